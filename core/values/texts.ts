/** Returns the text as a message shows it: whole, or its beginning when it is longer than 100 characters, or as many as `longest` says. */
export function shortened(text: string, longest = 100): string {
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text
}

/** Returns the text in quotes as a message shows it, shortened. */
export function quoted(text: string): string {
  return JSON.stringify(shortened(text))
}

/** Returns a value as text. Never throws, as `String` would on a map with a key such as `toString`. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** Whether two texts differ in the case of their letters at most, which Azure's names do not distinguish. */
export function isSameText(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** Orders texts by their code units, as Go does. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** What stands for a reason where nobody gave one. */
export const noReason = 'no reason given'

/** Returns why something was done, to follow by whom: `: its disk hangs`, or `, no reason given`. */
export function whyText(reason: string | undefined): string {
  return reason === undefined || reason === noReason ? `, ${noReason}` : `: ${reason}`
}
