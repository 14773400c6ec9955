import { printable } from '../../../core/values/printable.ts'

/** Text that is HTML already. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | readonly Html[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A template of HTML: what it is filled with is escaped, unless it is HTML itself. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.map((text, at) => (at === 0 ? text : `${asHtml(parts[at - 1] ?? '')}${text}`)).join(''))
}

function asHtml(part: Part): string {
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(({ text }) => text).join('')
  return printable(String(part)).replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign)
}

const style = `
:root { color-scheme: light dark; --line: #8884; --accent: #2563eb; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; } .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tiles { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-radius: .5rem; padding: .7rem 1rem; } .tiles strong { display: block; font-size: 1.4rem; }
.bar { background: var(--accent); height: .6rem; min-width: 1px; border-radius: .2rem; }
pre { background: #8881; padding: .7rem; overflow-x: auto; } .note { opacity: .75; }
`

/** A whole page: it needs no script, and asks nobody for anything. */
export function htmlPage(title: string, body: Html): string {
  const policy = "default-src 'none'; style-src 'unsafe-inline'"
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${body}
</body>
</html>
`.text
}

/** A column: its title, and whether it holds numbers. */
export type Column = string | { readonly number: string }

/** A table with a row for each list of cells. */
export function htmlTable(columns: readonly Column[], rows: readonly (readonly (string | number | Html)[])[]): Html {
  const isNumber = (at: number) => typeof columns[at] !== 'string'
  const cell = (value: string | number | Html, at: number) =>
    isNumber(at) ? html`<td class="number">${value}</td>` : html`<td>${value}</td>`
  const head = columns.map((column) =>
    typeof column === 'string'
      ? html`<th scope="col">${column}</th>`
      : html`<th scope="col" class="number">${column.number}</th>`,
  )
  const body = rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)
  return html`<table>
<thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody>
</table>`
}
