import { printable } from '../../../core/values/printable.ts'

/** Narrower columns would say nothing any more. */
const narrowest = 8
const gap = 2

let chosenWidth: number | undefined

/** From now on lines of tables have at most so many characters, whatever the terminal. */
export function setLineWidth(characters: number): void {
  chosenWidth = characters
}

/** How many characters a line may have: those of the terminal, else any number. */
function lineWidth(): number {
  const columns = process.stdout.isTTY ? process.stdout.columns : 0
  return chosenWidth ?? (columns || Number.POSITIVE_INFINITY)
}

/**
 * Columns as wide as their widest cell; the last one is not padded. Each row is one line, whatever its cells hold. Where the terminal is narrower, the
 * widest columns are cut.
 */
export function aligned(cells: readonly (readonly string[])[], width = lineWidth()): string {
  const rows = cells.map((row) => row.map(printable))
  const natural = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), 0),
  )
  const widths = fitted(natural, width)
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const shown = cut(cell, widths[column] ?? 0)
          return column === row.length - 1 ? shown : shown.padEnd(widths[column] ?? 0)
        })
        .join(' '.repeat(gap)),
    )
    .join('\n')
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

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, Math.max(0, width - 1))}…`
}
