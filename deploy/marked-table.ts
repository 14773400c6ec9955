/** Where a page holds a table that is generated. */
export interface TablePlace {
  /** Path of the page, for errors. */
  readonly name: string
  /** Word in the comments before and after the table. */
  readonly mark: string
  /** What writes it. */
  readonly by?: string
}

/** Returns the row of a table, and its rows, aligned as the formatter wants them. */
export function alignedTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((column, at) => Math.max(column.length, ...rows.map((cells) => cells[at]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |\n`
  return [columns, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('')
}

/** Returns a page with the table between its two marks. Errors: the page lacks one. */
export function withTable(page: string, { name, mark, by = 'npm run generate' }: TablePlace, table: string): string {
  const begins = `<!-- ${mark}: written by ${by} -->\n\n`
  const ends = `\n<!-- end of ${mark} -->`
  const from = page.indexOf(begins)
  const to = page.indexOf(ends, from)
  if (from < 0 || to < 0) throw new Error(`${name}: the marks "${begins.trim()}" and "${ends.trim()}" are missing`)
  return page.slice(0, from + begins.length) + table + page.slice(to)
}
