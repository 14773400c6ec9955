import type { QuarantineEntry } from '../../../core/quarantine.ts'
import { printable } from '../../../core/values/printable.ts'
import { aligned } from '../shared/table.ts'

/** Returns the entries for people. */
export function quarantineTable(entries: readonly QuarantineEntry[]): string {
  const rows = entries.map(({ id, sinceMs, untilMs, cause }) => [
    printable(id),
    time(sinceMs),
    time(untilMs),
    printable(cause),
  ])
  return aligned([['OBJECT', 'SINCE', 'UNTIL', 'CAUSE'], ...rows])
}

/** Returns an entry for programs. */
export function quarantineJson({ id, cause, sinceMs, untilMs }: QuarantineEntry): unknown {
  return { object: id, since: time(sinceMs), until: time(untilMs), cause }
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
