import { printable } from './printable.ts'

/** Returns untrusted text for one line of Markdown: what would be markup, a link or HTML is escaped. */
export function markdownText(text: string): string {
  return printable(text).replaceAll(/[\\`*_{}[\]()<>#+|!~&$]/g, '\\$&')
}

/** Returns untrusted text as a code span, in which nothing is markup. */
export function markdownCode(text: string): string {
  const plain = printable(text).replaceAll('`', "'")
  return plain === '' ? '` `' : `\`${plain}\``
}
