/** A message with its details behind it, by name, as upstream prints them. */
export function structuredError(message: string, details: Readonly<Record<string, string | number>>): string {
  const listed = Object.keys(details)
    .sort()
    .map((key) => `${key}=${details[key]}`)
  return `${message} (${listed.join(', ')})`
}
