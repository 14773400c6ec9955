import { billedSpans, billOf, type TimeRange } from '../../cost/bill.ts'
import type { Life } from '../life.ts'
import { deathWord } from '../texts.ts'
import { endOf, inOrder, isWithin, noPool } from './window.ts'

/** The NodeClaims of one NodePool, or all of them. `atStart + created - ended = atEnd`. */
export interface NodeCounts {
  readonly nodePool: string
  readonly atStart: number
  readonly created: number
  readonly ended: number
  readonly atEnd: number
  readonly nodeHours: number
  readonly usd: number
  /** Node-hours without a price, which add nothing to `usd`. */
  readonly unpricedHours: number
}

/** NodeClaims of a NodePool that came or went for one reason. */
export interface ReasonCount {
  readonly reason: string
  readonly nodePool: string
  readonly nodes: number
}

/** Returns the counts of each NodePool, by name. */
export function poolCounts(lives: readonly Life[], window: TimeRange): readonly NodeCounts[] {
  return [...Map.groupBy(lives, ({ nodePool }) => nodePool ?? noPool)]
    .map(([nodePool, own]) => nodeCounts(nodePool, own, window))
    .sort(inOrder(({ nodePool }) => nodePool))
}

/** Returns the counts of all these lifecycles. */
export function nodeCounts(nodePool: string, lives: readonly Life[], window: TimeRange): NodeCounts {
  const { fromMs, toMs } = window
  const count = (counts: (life: Life) => boolean) => lives.filter(counts).length
  const { nodeHours, usd, unpricedHours } = billOf(
    billedSpans(lives, window),
    () => '',
    () => undefined,
  )
  return {
    nodePool,
    atStart: count((life) => life.createdMs < fromMs && endOf(life) >= fromMs),
    created: count(({ createdMs }) => isWithin(window, createdMs)),
    ended: count((life) => isWithin(window, endOf(life))),
    atEnd: count((life) => life.createdMs < toMs && endOf(life) >= toMs),
    nodeHours,
    usd,
    unpricedHours,
  }
}

/** Returns why NodeClaims were created within the window, the most frequent reason first. */
export function births(lives: readonly Life[], window: TimeRange): readonly ReasonCount[] {
  return counted(
    lives.filter(({ createdMs }) => isWithin(window, createdMs)),
    ({ came }) => came.kind,
  )
}

/** Returns why NodeClaims ended within the window, likewise. */
export function deaths(lives: readonly Life[], window: TimeRange): readonly ReasonCount[] {
  return counted(
    lives.filter((life) => isWithin(window, endOf(life))),
    ({ went }) => (went === undefined ? 'unknown' : deathWord(went)),
  )
}

function counted(lives: readonly Life[], reasonOf: (life: Life) => string): readonly ReasonCount[] {
  const byReason = Map.groupBy(lives, reasonOf)
  const rows = [...byReason].flatMap(([reason, own]) =>
    [...Map.groupBy(own, ({ nodePool }) => nodePool ?? noPool)].map(([nodePool, { length }]) => ({
      reason,
      nodePool,
      nodes: length,
    })),
  )
  return rows.sort(
    inOrder(
      ({ reason }) => -(byReason.get(reason)?.length ?? 0),
      ({ reason }) => reason,
      ({ nodes }) => -nodes,
      ({ nodePool }) => nodePool,
    ),
  )
}
