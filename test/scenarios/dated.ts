/** A request to a workflow that is made now: one that does not say when is refused where a reset could repeat it. */
export function dated<Request extends object>(request = {} as Request): Request & { readonly at: string } {
  return { ...request, at: new Date().toISOString() }
}
