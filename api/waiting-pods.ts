import { z } from 'zod'
import { type WaitingCause, type WaitingClass, waitingCauses } from '../core/scheduling/explain/waiting-class.ts'
import type { WaitingCount } from '../core/scheduling/explain/waiting-classes.ts'

const text = z.string()
const texts = z.array(text)
const count = z.int().nonnegative()
const state = z.enum(['planned', 'unschedulable', 'held'])
const cause: z.ZodType<WaitingCause> = z.enum(waitingCauses)

const classSchema: z.ZodType<WaitingClass> = z.object({
  state,
  cause: cause.exactOptional(),
  pods: texts,
  count,
  sinceMs: z.number(),
  plannedOn: texts,
  finding: text,
  funnel: texts,
  remedies: texts,
})

const summarySchema = z.object({
  at: z.iso.datetime(),
  counts: z.array(z.object({ state, cause: cause.exactOptional(), count })),
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

/** Reads the entries of the ConfigMap. Entries that are not as this version writes them are left out. */
export function parseWaiting(data: Readonly<Record<string, string>>): StoredWaiting {
  const summary = summarySchema.safeParse(json(data[summaryKey]))
  const classes = Object.entries(data).flatMap(([key, stored]) => {
    if (key === summaryKey) return []
    const read = classSchema.safeParse(json(stored))
    return read.success ? [[key, read.data] as const] : []
  })
  return {
    ...(summary.success ? { atMs: Date.parse(summary.data.at) } : {}),
    counts: summary.success ? summary.data.counts : [],
    classes: new Map(classes),
  }
}

function json(stored: string | undefined): unknown {
  try {
    return JSON.parse(stored ?? '')
  } catch {
    return undefined
  }
}
