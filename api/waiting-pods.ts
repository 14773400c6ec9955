import { z } from 'zod'
import type { WaitingCount } from '../core/scheduling/explain/waiting-classes.ts'
import { type WaitingCause, type WaitingClass, waitingCauses } from '../core/scheduling/explain/waiting-classes.ts'
import { count, type Entries, epochMs, instant, type KeptFault, readEntries, readJson, words } from './kept/document.ts'

const text = words(100_000)
const texts = z.array(text).max(10_000)
const state = z.enum(['planned', 'unschedulable', 'held'])
const cause: z.ZodType<WaitingCause> = z.enum(waitingCauses)

const classSchema: z.ZodType<WaitingClass> = z.object({
  state,
  cause: cause.exactOptional(),
  pods: texts,
  count,
  sinceMs: epochMs,
  plannedOn: texts,
  finding: text,
  funnel: texts,
  remedies: texts,
})

const summarySchema = z.object({
  at: instant,
  counts: z.array(z.object({ state, cause: cause.exactOptional(), count })).max(1000),
})

/** Key of the time and the counts; no class has such a key. */
export const summaryKey = 'Summary'

/** What planners have found about waiting pods. */
export interface StoredWaiting {
  /** When it was written, epoch ms; unset when nothing was, or nothing that can be read. */
  readonly atMs?: number
  readonly counts: readonly WaitingCount[]
  /** By their keys. */
  readonly classes: ReadonlyMap<string, WaitingClass>
}

export function formatWaitingClass(one: WaitingClass): string {
  return JSON.stringify(one)
}

export function formatWaitingSummary(atMs: number, counts: readonly WaitingCount[]): string {
  return JSON.stringify({ at: new Date(atMs).toISOString(), counts })
}

/** Reads the entries of the ConfigMap. Entries that are not as this version writes them are left out, and named. */
export function parseWaiting(data: Entries): {
  readonly waiting: StoredWaiting
  readonly faults: readonly KeptFault[]
} {
  const { [summaryKey]: summaryText, ...rest } = data
  const { documents: classes, faults } = readEntries(rest, (_, stored) => readJson(classSchema, stored))
  if (summaryText === undefined) return { waiting: { counts: [], classes }, faults }
  const summary = readJson(summarySchema, summaryText)
  if (summary.kind === 'damaged')
    return { waiting: { counts: [], classes }, faults: [{ key: summaryKey, why: summary.why }, ...faults] }
  return { waiting: { atMs: summary.value.at, counts: summary.value.counts, classes }, faults }
}
