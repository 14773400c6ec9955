import { printable } from '../../core/values/printable.ts'
import {
  amountOf,
  type Cell,
  type Document,
  type Inline,
  isLine,
  type Line,
  type Part,
  piecesOf,
  type Style,
  type Table,
  textOf,
} from './document.ts'
import type { Times } from './words.ts'

/** Where a document is shown. */
export interface Place {
  /** Characters of a line. */
  readonly width: number
  readonly paint: (text: string, style: Style) => string
  /** How times are written; unset: as they are, for what is read later. */
  readonly times?: Times
}

/** A file, a pipe, or a terminal of any width. */
export const anywhere: Place = { width: Number.POSITIVE_INFINITY, paint: (text) => text }

/** Narrower columns would say nothing any more. */
const narrowest = 8
/** A column that is wider can be cut before another is left out. */
const roomy = 40
const gap = 2

/** Returns a document's lines for a terminal, one by one: a document may be larger than a text can be. No text of others holds a character that a terminal obeys. */
export function* linesOf(document: Document, place: Place = anywhere): Generator<string> {
  let isFirst = true
  for (const parts of document) {
    let isBegun = false
    for (const line of partLines(parts, place)) {
      if (!isBegun && !isFirst) yield ''
      isBegun = true
      isFirst = false
      yield line
    }
  }
}

/** Returns the same as one text. */
export function plainText(document: Document, place: Place = anywhere): string {
  return [...linesOf(document, place)].join('\n')
}

function* partLines(parts: readonly Part[], place: Place): Generator<string> {
  for (const part of parts) {
    if (part === undefined) continue
    if (isLine(part)) yield lineText(part, place)
    else if ('rows' in part) yield* tableLines(part, place)
    else if ('heading' in part) yield `${lineText(part.heading, place)}${part.isOfAll ? '' : ':'}`
    else if ('code' in part) yield* indented([lineText(part.title, place), ...part.code.split('\n')])
    else yield* listLines(part, place)
  }
}

function* listLines({ title, items }: Extract<Part, { readonly items: unknown }>, place: Place): Generator<string> {
  const inner = partLines(items, { ...place, width: place.width - (title === undefined ? 0 : gap) })
  let isBegun = title === undefined
  for (const line of title === undefined ? inner : indented(inner)) {
    if (!isBegun && title !== undefined) yield lineText(title, place)
    isBegun = true
    yield line
  }
}

function* indented(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${' '.repeat(gap)}${line}`.trimEnd()
}

function lineText(line: Line, { paint, times }: Place): string {
  return piecesOf(line)
    .map((piece) => {
      const text = pieceText(piece, times)
      return typeof piece === 'object' && 'style' in piece ? paint(text, piece.style) : text
    })
    .join('')
}

function pieceText(piece: Inline, times: Times | undefined): string {
  const text = printable(textOf(piece))
  return times?.text(text) ?? text
}

function cellText(cell: Cell, times: Times | undefined): string {
  if (cell === undefined) return '-'
  if (typeof cell === 'number') return String(cell)
  return isLine(cell)
    ? piecesOf(cell)
        .map((piece) => pieceText(piece, times))
        .join('')
    : amountOf(cell)
}

/** Columns are as wide as their widest cell; the last one is not padded. Where the terminal is narrower, columns are left out, and then the widest ones are cut. */
function* tableLines({ header, drop = [], rows }: Table, { width, times }: Place): Generator<string> {
  const count = header?.length ?? rows[0]?.length ?? 0
  const natural = Array.from({ length: count }, (_, column) =>
    rows.reduce((widest, row) => Math.max(widest, cellText(row[column], times).length), header?.[column]?.length ?? 0),
  )
  const columns = shownColumns(
    natural,
    drop.map((title) => header?.indexOf(title) ?? -1),
    width,
  )
  const widths = fitted(
    columns.map((column) => natural[column] ?? 0),
    width,
  )
  const line = (row: readonly Cell[]) =>
    columns
      .map((column, at) => {
        const shown = cut(cellText(row[column], times), widths[at] ?? 0)
        return at === columns.length - 1 ? shown : shown.padEnd(widths[at] ?? 0)
      })
      .join(' '.repeat(gap))
  if (header !== undefined) yield line(header)
  for (const row of rows) yield line(row)
}

/** Columns that are shown: all but as many of `drop` as have to go. */
function shownColumns(natural: readonly number[], drop: readonly number[], width: number): readonly number[] {
  let shown = natural.map((_, column) => column)
  for (const column of drop) {
    if (shown.reduce((sum, each) => sum + Math.min(roomy, natural[each] ?? 0) + gap, -gap) <= width) break
    shown = shown.filter((each) => each !== column)
  }
  return shown
}

/** Widths that fit together, by taking from the widest. */
function fitted(natural: readonly number[], width: number): readonly number[] {
  const widths = [...natural]
  const room = width - gap * (widths.length - 1)
  for (let over = widths.reduce((sum, one) => sum + one, 0) - room; over > 0; over--) {
    const widest = widths.indexOf(Math.max(...widths))
    if ((widths[widest] ?? 0) <= narrowest) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

/** Returns a text of at most so many characters, on one line. `isCutInFront`: its end says more than its beginning. */
export function cut(text: string, width: number, isCutInFront = false): string {
  const shown = printable(text)
  if (shown.length <= width) return shown
  if (width <= 0) return ''
  return isCutInFront ? `…${shown.slice(shown.length - width + 1)}` : `${shown.slice(0, width - 1)}…`
}
