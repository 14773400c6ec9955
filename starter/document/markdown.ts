import { printable } from '../../core/values/printable.ts'
import {
  amountOf,
  type Cell,
  type Document,
  type Inline,
  isLine,
  isNumeric,
  type Line,
  type Part,
  piecesOf,
  type Table,
  textOf,
} from './document.ts'

/** Wider columns are not padded: one long message would move all else out of sight. */
const widestPadded = 48

/** Returns a document as Markdown that GitHub and others show as it is meant, whatever names and messages are. */
export function markdownOf(document: Document): string {
  return document.flatMap((parts) => parts.flatMap(blockOf)).join('\n\n')
}

function blockOf(part: Part): readonly string[] {
  if (part === undefined) return []
  if (isLine(part)) return [lineOf(part)]
  if ('rows' in part) return [tableOf(part)]
  if ('heading' in part) return [`${part.isOfAll ? '#' : '##'} ${lineOf(part.heading)}`]
  if ('code' in part)
    return [
      lineOf(part.title),
      part.code
        .split('\n')
        .map((line) => `    ${line}`)
        .join('\n'),
    ]
  if (part.items.length === 0) return []
  const title = part.title === undefined ? [] : [lineOf(part.title)]
  return [
    ...title,
    part.items
      .filter((item) => item !== undefined)
      .map(itemOf)
      .join('\n'),
  ]
}

function itemOf(item: Part): string {
  return `- ${blockOf(item).join('\n').replaceAll('\n', '\n  ')}`
}

function lineOf(line: Line): string {
  return piecesOf(line).map(inline).join('')
}

function tableOf(table: Table): string {
  const { title, rows } = table
  const header = table.header?.map(printable) ?? rows[0]?.map(() => '') ?? []
  const cells = [header, ...rows.map((row) => row.map(cellOf))]
  const widths = header.map((_, column) =>
    Math.min(widestPadded, Math.max(3, ...cells.map((row) => (row[column] ?? '').length))),
  )
  const numeric = header.map((_, column) => isNumeric(table, column))
  const lines = cells.map((row) =>
    rowOf(row.map((cell, at) => (numeric[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))),
  )
  const rule = rowOf(widths.map((width, at) => (numeric[at] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))))
  return [...(title === undefined ? [] : [`**${printable(title)}**`, '']), lines[0], rule, ...lines.slice(1)].join('\n')
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function cellOf(cell: Cell): string {
  if (cell === undefined) return '-'
  return isLine(cell) ? lineOf(cell) : amountOf(cell)
}

function inline(piece: Inline): string {
  return typeof piece === 'object' && 'foreign' in piece ? code(piece.foreign) : printable(textOf(piece))
}

/**
 * Returns foreign text as code, within which nothing is markup, a link, or a mention of somebody. What could end a code span or a table's cell is
 * written as HTML, with character references.
 */
function code(foreign: string): string {
  const text = printable(foreign)
  if (text === '') return '-'
  if (/^[^`|\\\s](?:[^`|\\]*[^`|\\\s])?$/.test(text)) return `\`${text}\``
  return `<code>${text.replaceAll(/[^A-Za-z0-9 ]/gu, (character) => `&#${character.codePointAt(0)};`)}</code>`
}
