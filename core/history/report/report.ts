// Sums up what Temporal keeps of a cluster's nodes, for `joiner history report`.
import type { History } from '../life.ts'
import { type MethodCounts, methodCounts, type UndoneCount, undoneReasons } from './disruption.ts'
import { type Interruption, type InterruptionCounts, interruptionCounts, interruptions } from './interruptions.ts'
import { type LaunchCounts, type LaunchLatency, launchCounts, launchLatencies, plannedWaits } from './launches.ts'
import { births, deaths, type NodeCounts, nodeCounts, poolCounts, type ReasonCount } from './nodes.ts'
import { type Refusals, refusals } from './refusals.ts'
import type { Spread } from './spread.ts'

/** What happened to a cluster's nodes within a time. */
export interface ReportFacts {
  /** Epoch ms, as in the history. */
  readonly sinceMs: number
  readonly untilMs: number
  readonly retentionMs?: number
  /** Lifecycles that could not be read; they are counted nowhere else. */
  readonly unreadable: number
  readonly nodes: NodeCounts
  readonly nodePools: readonly NodeCounts[]
  readonly births: readonly ReasonCount[]
  readonly deaths: readonly ReasonCount[]
  readonly launches: LaunchCounts
  readonly latencies: { readonly all?: LaunchLatency; readonly rows: readonly LaunchLatency[] }
  readonly refusals: Refusals
  readonly methods: readonly MethodCounts[]
  readonly undone: readonly UndoneCount[]
  readonly interruptionCounts: InterruptionCounts
  readonly interruptions: readonly Interruption[]
  /** How long pods waited at least for nodes that were created for them, in ms; absent: no node was. */
  readonly plannedWaits?: Spread
}

/** Returns the report of a history, from its beginning to its end. */
export function reportOf({ lives, commands, ...known }: History): ReportFacts {
  const window = { fromMs: known.sinceMs, toMs: known.untilMs }
  const interrupted = interruptions(lives, window)
  const waits = plannedWaits(lives, window)
  return {
    ...known,
    nodes: nodeCounts('', lives, window),
    nodePools: poolCounts(lives, window),
    births: births(lives, window),
    deaths: deaths(lives, window),
    launches: launchCounts(lives, window),
    latencies: launchLatencies(lives, window),
    refusals: refusals(lives, window),
    methods: methodCounts(commands, lives, window),
    undone: undoneReasons(commands, window),
    interruptionCounts: interruptionCounts(interrupted, lives, window),
    interruptions: interrupted,
    ...(waits === undefined ? {} : { plannedWaits: waits }),
  }
}
