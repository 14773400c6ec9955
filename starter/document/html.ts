import { printable, printableLines } from '../../core/values/printable.ts'
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
  wordsOf,
} from './document.ts'

/** The page loads nothing and runs nothing. */
const policy = "default-src 'none'; style-src 'unsafe-inline'"

const style = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
caption { font-weight: 600; padding: 0.3rem 0; text-align: left; }
th, td { border-bottom: 1px solid #8886; padding: 0.25rem 0.75rem 0.25rem 0; text-align: left; vertical-align: top; }
.number { font-variant-numeric: tabular-nums; text-align: right; }
meter { margin-right: 0.5rem; width: 6rem; }
code { font-size: 0.92em; overflow-wrap: anywhere; }
pre { background: #8881; overflow-x: auto; padding: 0.7rem; }
`

/** Returns a document as one HTML page that needs no other file. */
export function htmlOf(document: Document): string {
  const title = document.flat().find((part) => typeof part === 'object' && 'heading' in part)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(typeof title === 'object' && 'heading' in title ? wordsOf(title.heading) : 'Joiner')}</title>
<style>${style}</style>
</head>
<body>
<main>
${document.map((parts) => `<section>\n${parts.map(blockOf).join('')}</section>`).join('\n')}
</main>
</body>
</html>`
}

function blockOf(part: Part): string {
  if (part === undefined) return ''
  if (isLine(part)) return `<p>${lineOf(part)}</p>\n`
  if ('rows' in part) return tableOf(part)
  if ('heading' in part)
    return part.isOfAll ? `<h1>${lineOf(part.heading)}</h1>\n` : `<h2>${lineOf(part.heading)}</h2>\n`
  if ('code' in part)
    return `<details><summary>${lineOf(part.title)}</summary>\n<pre>${references(printableLines(part.code))}</pre></details>\n`
  if (part.items.length === 0) return ''
  const items = part.items.flatMap((item) =>
    item === undefined ? [] : [`<li>${isLine(item) ? lineOf(item) : blockOf(item)}</li>\n`],
  )
  return `${part.title === undefined ? '' : `<p>${lineOf(part.title)}</p>\n`}<ul>\n${items.join('')}</ul>\n`
}

function tableOf(table: Table): string {
  const { title, header, rows } = table
  const own = (column: number) => (isNumeric(table, column) ? ' class="number"' : '')
  const classes = (header ?? rows[0] ?? []).map((_, column) => own(column))
  const names = header?.map((name, column) => `<th scope="col"${classes[column]}>${escaped(name)}</th>`)
  const lines = rows.map((row) => row.map((cell, column) => `<td${classes[column]}>${cellOf(cell)}</td>`).join(''))
  return `<table>
${title === undefined ? '' : `<caption>${escaped(title)}</caption>\n`}${names === undefined ? '' : `<thead><tr>${names.join('')}</tr></thead>\n`}<tbody>
${lines.map((line) => `<tr>${line}</tr>`).join('\n')}
</tbody>
</table>
`
}

function cellOf(cell: Cell): string {
  if (cell === undefined) return '-'
  if (isLine(cell)) return lineOf(cell)
  const text = escaped(amountOf(cell))
  return typeof cell === 'object' && 'share' in cell ? `<meter value="${cell.share}"></meter>${text}` : text
}

function lineOf(line: Line): string {
  return piecesOf(line).map(inline).join('')
}

function inline(piece: Inline): string {
  if (typeof piece === 'string' || 'text' in piece) return escaped(textOf(piece))
  return piece.foreign === '' ? '-' : `<code>${escaped(piece.foreign)}</code>`
}

function escaped(text: string): string {
  return references(printable(text))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function references(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}
