/** What stands in a workflow for a payload that cannot be read: of a foreign encoding, no JSON, or encrypted with an unknown key. */
interface Unreadable {
  readonly unreadablePayload: string
}

/** Returns what stands for a payload that cannot be read. `why`: as the text of an error says it. */
export function unreadable(why: string): Unreadable {
  return { unreadablePayload: why }
}

/** Why a payload could not be read. Undefined: it could. */
export function unreadableWhy(value: unknown): string | undefined {
  const why = (value as Partial<Unreadable> | null | undefined)?.unreadablePayload
  return typeof why === 'string' ? why : undefined
}
