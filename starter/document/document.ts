import { shortened } from '../../core/values/texts.ts'
import { percent } from './words.ts'

/** How a text looks in a terminal with colours. */
export type Style = 'bold' | 'green' | 'yellow' | 'red' | 'cyan'

/** A piece of a line: words of our own, perhaps in a style, or a text that somebody else chose, such as a name. */
export type Inline = string | { readonly foreign: string } | { readonly text: string; readonly style: Style }

/** One line, whatever texts of others hold. */
export type Line = Inline | readonly Inline[]

/** `number`: a number in words of its own; `share`: a part of one; undefined: a dash. */
export type Cell = Line | number | { readonly number: string } | { readonly share: number } | undefined

export interface Table {
  readonly title?: string
  readonly header?: readonly string[]
  /** Titles of columns that are left out where a terminal is too narrow for all, in this order. */
  readonly drop?: readonly string[]
  /** Each has as many cells as the header. */
  readonly rows: readonly (readonly Cell[])[]
}

/** A column: its title, and what it says of a row. */
export type Column<Row> = readonly [title: string, cell: (row: Row) => Cell]

/** Returns a table of these columns, a line for each row. */
export function tableOf<Row>(rows: Iterable<Row>, columns: readonly Column<Row>[]) {
  return {
    header: columns.map(([title]) => title),
    rows: [...rows].map((row) => columns.map(([, cell]) => cell(row))),
  }
}

/** Parts that belong to a title, such as remedies; nothing at all without items. */
interface List {
  readonly title?: Line
  readonly items: readonly Part[]
}

interface Heading {
  readonly heading: Line
  readonly isOfAll?: true
}

/** Text of several lines, such as a manifest, which a page shows when it is asked for. */
interface Code {
  readonly title: Line
  readonly code: string
}

/** What stands below another; undefined: nothing. */
export type Part = Line | Table | List | Heading | Code | undefined

/** What a command answers, before it is text for a terminal, Markdown or HTML: sections of parts. */
export type Document = readonly (readonly Part[])[]

/** Names and messages are shorter unless somebody forged them. */
const longestForeign = 260

/** Returns a text that somebody else chose. */
export function foreign(text: string): Inline {
  return { foreign: shortened(text, longestForeign) }
}

export function isLine(part: Exclude<Part | Cell, undefined>): part is Line {
  return (
    typeof part === 'string' ||
    Array.isArray(part) ||
    (typeof part === 'object' && ('foreign' in part || 'text' in part))
  )
}

/** Returns what belongs under a title; nothing where there is nothing of it. */
export function section(title: string, items: readonly Part[]): List | undefined {
  const known = items.filter((item) => item !== undefined)
  return known.length === 0 ? undefined : { title: `${title}:`, items: known }
}

/** Returns the pieces of a line. */
export function piecesOf(line: Line): readonly Inline[] {
  return Array.isArray(line) ? line : [line as Inline]
}

/** Returns a piece's text as it is. */
export function textOf(piece: Inline): string {
  if (typeof piece === 'string') return piece
  return 'foreign' in piece ? piece.foreign : piece.text
}

/** Returns a line's text as it is. */
export function wordsOf(line: Line): string {
  return piecesOf(line).map(textOf).join('')
}

/** Whether a column has numbers, which stand to the right. */
export function isNumeric({ rows }: Table, column: number): boolean {
  return rows.some(
    (row) => typeof row[column] === 'number' || (typeof row[column] === 'object' && 'number' in row[column]),
  )
}

/** Returns a cell that is no line in words. */
export function amountOf(cell: Exclude<Cell, Line | undefined>): string {
  if (typeof cell === 'number') return cell.toLocaleString('en-US')
  return 'number' in cell ? cell.number : percent(cell.share)
}
