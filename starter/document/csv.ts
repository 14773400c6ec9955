import { printable } from '../../core/values/printable.ts'

export type CsvCell = string | number | undefined

export interface CsvTable {
  readonly header: readonly string[]
  readonly rows: readonly (readonly CsvCell[])[]
}

/**
 * Returns rows as RFC 4180, with lines that end as in every other output. Names and messages come from a cluster and are opened in spreadsheets: a
 * text that such a program would take for a formula begins with an apostrophe, and control characters are escaped.
 */
export function csvText({ header, rows }: CsvTable): string {
  return [header, ...rows].map((row) => row.map(cellText).join(',')).join('\n')
}

function cellText(cell: CsvCell): string {
  if (cell === undefined) return ''
  if (typeof cell === 'number') return String(cell)
  const plain = printable(cell)
  const safe = /^\s*[=+\-@|%]/.test(plain) ? `'${plain}` : plain
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
