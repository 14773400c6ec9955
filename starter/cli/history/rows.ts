import { type BilledSpan, billedSpans, billOf } from '../../../core/cost/bill.ts'
import type { CommandFacts, History, Life, VmSpan } from '../../../core/history/life.ts'
import { deathWord } from '../../../core/history/texts.ts'
import { timelineOf } from '../../../core/history/timeline.ts'

const noPool = '(none)'

/** A lifecycle with what its VMs cost within the history's time. */
export interface LifeRow {
  readonly life: Life
  readonly nodeHours: number
  readonly usd: number
  /** Node-hours without a price, which add nothing to `usd`. */
  readonly unpricedHours: number
}

/** The nodes of one NodePool within the history's time. */
export interface PoolRow {
  readonly nodePool: string
  readonly running: number
  readonly created: number
  readonly ended: number
  readonly nodeHours: number
  readonly usd: number
  readonly unpricedHours: number
  /** How many came and went for which cause, by its word. */
  readonly came: Readonly<Record<string, number>>
  readonly went: Readonly<Record<string, number>>
  /** How often Azure refused capacity, as far as lifecycles keep it. */
  readonly refused: number
}

/** Returns a row for each lifecycle, the oldest first. */
export function lifeRows(history: History): readonly LifeRow[] {
  const spans = Map.groupBy(spansOf(history), ({ life }) => life)
  return history.lives.map((life) => ({ life, ...sumOf(spans.get(life) ?? []) }))
}

/** Returns a row for each NodePool, by name. */
export function poolRows(history: History): readonly PoolRow[] {
  const rows = Map.groupBy(lifeRows(history), ({ life }) => life.nodePool ?? noPool)
  return [...rows]
    .map(([nodePool, own]): PoolRow => {
      const lives = own.map(({ life }) => life)
      const created = lives.filter(({ createdMs }) => createdMs >= history.sinceMs)
      const ended = lives.filter(({ endedMs }) => endedMs !== undefined)
      return {
        nodePool,
        running: lives.filter(({ isRunning }) => isRunning).length,
        created: created.length,
        ended: ended.length,
        nodeHours: total(own, ({ nodeHours }) => nodeHours),
        usd: total(own, ({ usd }) => usd),
        unpricedHours: total(own, ({ unpricedHours }) => unpricedHours),
        came: counted(created.map(({ came }) => came.kind)),
        went: counted(ended.map(({ went }) => (went === undefined ? 'unknown' : deathWord(went)))),
        refused: total(lives, ({ refused }) => refused.length),
      }
    })
    .sort((a, b) => (a.nodePool < b.nodePool ? -1 : 1))
}

/** Keeps the lifecycles of a Node or NodeClaim, or of a NodePool. Commands stay, since a timeline names those that matter to it. */
export function ofNode(history: History, name: string): History {
  return { ...history, lives: history.lives.filter(({ nodeClaim, node }) => nodeClaim === name || node === name) }
}

export function ofPool(history: History, name: string): History {
  return { ...history, lives: history.lives.filter(({ nodePool }) => (nodePool ?? noPool) === name) }
}

function spansOf({ lives, sinceMs, untilMs }: History): readonly BilledSpan[] {
  return billedSpans(lives, { fromMs: sinceMs, toMs: untilMs })
}

function sumOf(spans: readonly BilledSpan[]): Omit<LifeRow, 'life'> {
  const { nodeHours, usd, unpricedHours } = billOf(
    spans,
    () => '',
    () => undefined,
  )
  return { nodeHours, usd, unpricedHours }
}

function total<T>(rows: readonly T[], of: (row: T) => number): number {
  return rows.reduce((sum, row) => sum + of(row), 0)
}

function counted(words: readonly string[]): Readonly<Record<string, number>> {
  const groups = [...Map.groupBy(words, (word) => word)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(groups.map(([word, all]) => [word, all.length]))
}

/** What the answer covers, for programs. */
export function coverageJson({ sinceMs, untilMs, retentionMs, unreadable, withoutVm = 0 }: History) {
  return {
    since: iso(sinceMs),
    until: iso(untilMs),
    // Null: Temporal does not say.
    retentionHours: retentionMs === undefined ? null : retentionMs / 3_600_000,
    unreadable,
    withoutVm,
  }
}

/** A lifecycle for programs. Money is in USD. */
export function lifeJson({ life, nodeHours, usd, unpricedHours }: LifeRow) {
  const { createdMs, registeredMs, readyMs, drainingMs, endedMs, vms, ...facts } = life
  return {
    ...facts,
    created: iso(createdMs),
    ...times({ registered: registeredMs, ready: readyMs, draining: drainingMs, ended: endedMs }),
    vms: vms.map(vmJson),
    nodeHours,
    usd,
    unpricedHours,
  }
}

function vmJson({ fromMs, toMs, ...vm }: VmSpan) {
  return { ...vm, from: iso(fromMs), ...times({ to: toMs }) }
}

export function commandJson({ startedMs, endedMs, ...command }: CommandFacts) {
  return { ...command, started: iso(startedMs), ...times({ ended: endedMs }) }
}

/** A lifecycle with its timeline, for programs. */
export function timelineJson(row: LifeRow, commands: readonly CommandFacts[]) {
  return {
    ...lifeJson(row),
    timeline: timelineOf(row.life, commands).map(({ atMs, what }) => ({ at: iso(atMs), what })),
  }
}

function times<K extends string>(all: Readonly<Record<K, number | undefined>>): { readonly [key in K]?: string } {
  const known = Object.entries<number | undefined>(all).flatMap(([key, ms]) =>
    ms === undefined ? [] : [[key, iso(ms)]],
  )
  return Object.fromEntries(known) as { readonly [key in K]?: string }
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}
