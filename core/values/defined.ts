/** Returns an object without the fields that are undefined: for optional fields, which are absent where nothing is known. */
export function defined<T extends object>(fields: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  const known: { [K in keyof T]?: Exclude<T[K], undefined> } = {}
  for (const key in fields) if (fields[key] !== undefined) known[key] = fields[key] as Exclude<T[typeof key], undefined>
  return known
}
