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

// Lists for scripts, as kubectl prints them: from the JSON of an answer, whatever people see of it.

type Json = Readonly<Record<string, unknown>>

/** Returns the name of each row: the first field of its JSON. */
export function namesOf(json: unknown): readonly string[] {
  return rowsOf(json).map((row) => textOf(Object.values(row)[0]))
}

const columnPattern = /^([^:]+):\.?([\w.-]+)$/

/** Returns what is wrong with `TITLE:.path` pairs that have commas between, and how they are written; undefined where nothing is. */
export function wrongColumn(spec: string): string | undefined {
  const wrong = spec.split(',').find((column) => !columnPattern.test(column))
  if (wrong === undefined) return undefined
  return `"${printable(wrong)}" is no column; write TITLE:.field, as in NAME:.nodeClaim,PHASE:.phase`
}

/** Returns a table of such columns, its header first. */
export function customColumns(spec: string, json: unknown): readonly (readonly string[])[] {
  const columns = spec.split(',').map((column) => {
    const [, title = '', path = ''] = columnPattern.exec(column) ?? []
    return { title, path: path.split('.') }
  })
  const cell = (row: Json, path: readonly string[]) =>
    textOf(path.reduce<unknown>((value, key) => (value as Json | undefined | null)?.[key], row))
  return [columns.map(({ title }) => title), ...rowsOf(json).map((row) => columns.map(({ path }) => cell(row, path)))]
}

/** An answer is its rows, or has a list of them. */
function rowsOf(answer: unknown): readonly Json[] {
  const json = JSON.parse(JSON.stringify(answer)) as Json | readonly Json[]
  if (Array.isArray(json)) return json as readonly Json[]
  return (Object.values(json).find(Array.isArray) ?? []) as readonly Json[]
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '<none>'
  return printable(typeof value === 'string' ? value : JSON.stringify(value))
}
