import { printable } from '../../../core/values/printable.ts'
import type { Cell, Document, Inline, Section, Table } from './document.ts'

/** The page loads nothing and runs nothing. */
const policy = "default-src 'none'; style-src 'unsafe-inline'"

const style = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
caption { font-weight: 600; padding: 0.3rem 0; text-align: left; }
th, td { border-bottom: 1px solid #8886; padding: 0.25rem 0.75rem 0.25rem 0; text-align: left; vertical-align: top; }
.number { font-variant-numeric: tabular-nums; text-align: right; }
code { font-size: 0.92em; overflow-wrap: anywhere; }
`

/** Returns a document as one HTML page that needs no other file. */
export function htmlOf({ title, summary, sections }: Document): string {
  const heading = title.map((part) => (typeof part === 'string' ? part : part.foreign)).join('')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(heading)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${lineOf(title)}</h1>
<ul>
${summary.map((line) => `<li>${lineOf(line)}</li>`).join('\n')}
</ul>
${sections.map(sectionOf).join('\n')}
</main>
</body>
</html>`
}

function sectionOf({ title, lines, tables }: Section): string {
  return [
    '<section>',
    `<h2>${escaped(title)}</h2>`,
    ...lines.map((line) => `<p>${lineOf(line)}</p>`),
    ...tables.map(tableOf),
    '</section>',
  ].join('\n')
}

function tableOf({ title, header, rows }: Table): string {
  const isNumber = header.map((_, column) => rows.some((row) => isNumeric(row[column])))
  const own = (column: number) => (isNumber[column] ? ' class="number"' : '')
  const names = header.map((name, column) => `<th scope="col"${own(column)}>${escaped(name)}</th>`)
  const lines = rows.map((row) => row.map((cell, column) => `<td${own(column)}>${cellOf(cell)}</td>`).join(''))
  return `<table>
<caption>${escaped(title)}</caption>
<thead><tr>${names.join('')}</tr></thead>
<tbody>
${lines.map((line) => `<tr>${line}</tr>`).join('\n')}
</tbody>
</table>`
}

function isNumeric(cell: Cell | undefined): cell is { readonly number: string } {
  return typeof cell === 'object' && 'number' in cell
}

function cellOf(cell: Cell): string {
  return isNumeric(cell) ? escaped(cell.number) : inline(cell)
}

function lineOf(line: readonly Inline[]): string {
  return line.map(inline).join('')
}

function inline(part: Inline): string {
  if (typeof part === 'string') return escaped(part)
  return part.foreign === '' ? '-' : `<code>${escaped(part.foreign)}</code>`
}

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => references[character] ?? '')
}
