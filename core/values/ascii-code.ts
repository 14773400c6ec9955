/** The same code in ASCII: V8 keeps a text with one character beyond Latin-1 at two bytes a character, once for each thread that loads it. */
export function asciiCode(code: string): string {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
