import { printable } from '../../../core/values/printable.ts'
import type { Cell, Document, Inline, Section, Table } from './document.ts'

/** Wider columns are not padded: one long message would move all else out of sight. */
const widestPadded = 48

/** Returns a document as Markdown that GitHub and others show as it is meant, whatever names and messages are. */
export function markdownOf({ title, summary, sections }: Document): string {
  return [`# ${lineOf(title)}`, listOf(summary), ...sections.map(sectionOf)].join('\n\n')
}

function sectionOf({ title, lines, tables }: Section): string {
  return [`## ${title}`, ...(lines.length === 0 ? [] : [lines.map(lineOf).join('\n\n')]), ...tables.map(tableOf)].join(
    '\n\n',
  )
}

function listOf(lines: readonly (readonly Inline[])[]): string {
  return lines.map((line) => `- ${lineOf(line)}`).join('\n')
}

function lineOf(line: readonly Inline[]): string {
  return line.map(inline).join('')
}

function tableOf({ title, header, rows }: Table): string {
  const cells = [header, ...rows.map((row) => row.map(cellOf))]
  const widths = header.map((_, column) =>
    Math.min(widestPadded, Math.max(3, ...cells.map((row) => (row[column] ?? '').length))),
  )
  const isNumber = header.map((_, column) =>
    rows.some((row) => typeof row[column] === 'object' && 'number' in row[column]),
  )
  const lines = cells.map((row) =>
    line(
      row.map((cell, column) =>
        isNumber[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      ),
    ),
  )
  const rule = line(widths.map((width, column) => (isNumber[column] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))))
  return [`**${title}**`, '', lines[0], rule, ...lines.slice(1)].join('\n')
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function cellOf(cell: Cell): string {
  return typeof cell === 'object' && 'number' in cell ? cell.number : inline(cell)
}

function inline(part: Inline): string {
  return typeof part === 'string' ? part : code(part.foreign)
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
