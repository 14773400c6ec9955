import type { QuarantineEntry } from '../../../core/quarantine.ts'
import { timeText } from '../../../core/values/time.ts'
import type { Table } from '../../document/document.ts'

/** Returns the entries for people. */
export function quarantineTable(entries: readonly QuarantineEntry[]): Table {
  return {
    header: ['OBJECT', 'SINCE', 'UNTIL', 'CAUSE'],
    rows: entries.map(({ id, sinceMs, untilMs, cause }) => [id, timeText(sinceMs), timeText(untilMs), cause]),
  }
}

/** Returns an entry for programs. */
export function quarantineJson({ id, cause, sinceMs, untilMs }: QuarantineEntry) {
  return { object: id, since: timeText(sinceMs), until: timeText(untilMs), cause }
}
