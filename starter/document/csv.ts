import { printable } from '../../core/values/printable.ts'
import { ReportedError } from './reported-error.ts'

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

/** Returns a table of `TITLE:.path` pairs with commas between, its header first. Errors: ReportedError that says how to write it. */
export function customColumns(spec: string, json: unknown): readonly (readonly string[])[] {
  const columns = spec.split(',').map((column) => {
    const [, title, path] = /^([^:]+):\.?([\w.-]+)$/.exec(column) ?? []
    if (title === undefined || path === undefined)
      throw new ReportedError(
        `-o custom-columns: "${column}" is no column; write TITLE:.field, as in NAME:.nodeClaim,PHASE:.phase`,
      )
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
