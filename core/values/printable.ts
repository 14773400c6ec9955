/**
 * Characters that move a terminal's cursor, change its state, or hide or reorder what it shows: controls, escapes, line separators, bidirectional
 * overrides, zero-width characters, unpaired surrogates.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const unprintableInLines = new RegExp(`(?![\\n\\t])${unprintable.source}`, 'gu')
/** Cheaper to test than unprintable characters, and almost no text contains any. */
const beyondAscii = /[^\x20-\x7e]/
const beyondAsciiLines = /[^\n\t\x20-\x7e]/

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** Returns untrusted text for one line, such as a name: characters that control a terminal become escapes such as `\u001b` or `\n`. */
export function printable(text: string): string {
  if (!beyondAscii.test(text)) return text
  return text.replaceAll(unprintable, (character) => shortEscapes.get(character) ?? escaped(character))
}

/** Returns the same for output of several lines: line feeds and tabs stay. Within JSON the escapes keep their meaning. */
export function printableLines(text: string): string {
  return beyondAsciiLines.test(text) ? text.replaceAll(unprintableInLines, escaped) : text
}

/** Returns the same for YAML. Escaped text must be in double quotes, unless it is a comment. */
export function printableYaml(text: string): string {
  return text.replaceAll(unprintableInLines, (character) =>
    character.length === 1 ? escaped(character) : `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`,
  )
}

/** Returns untrusted text on one line of at most `most` characters; the end of a longer one is replaced by its length. */
export function printableStart(text: string, most: number): string {
  if (text.length <= most) return printable(text)
  return `${printable(text.slice(0, most))}... (${text.length} characters)`
}

/** Returns JSON escapes: two for a character beyond the first 65,536. */
function escaped(character: string): string {
  let text = ''
  for (let at = 0; at < character.length; at++) text += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  return text
}
