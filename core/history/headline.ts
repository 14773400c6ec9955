// What is said first of a node, and what helps it: one answer for the command line, the page and Temporal's UI.
import { type DrainWaits, remedyFor } from '../node-claim/drain-waits.ts'
import type { Phase } from '../node-claim/phase.ts'
import { defined } from '../values/defined.ts'
import { timeText } from '../values/time.ts'

/** What helps: the command that one would type, and what it does in words. */
export interface Remedy {
  readonly what?: string
  readonly command?: string
}

/** A node at one moment, as its objects or its lifecycle describe it. */
export interface NodeState {
  /** Unset: no NodeClaim stands for it. */
  readonly nodeClaim?: string
  /** A `Phase`, or what stands for one where there is none. */
  readonly phase: string
  /** Epoch ms; NaN: not known. */
  readonly sinceMs: number
  /** Why it leaves, or is about to. */
  readonly leaves?: string
  readonly waitsFor?: string
  /** Why its VM is not its own. */
  readonly unowned?: string
  /** Its hold, in words. */
  readonly hold?: string
  /** What else is odd about it, the most important first. */
  readonly oddities?: readonly string[]
  /** Something failed and is tried again after a back-off. */
  readonly isRetried?: boolean
  /** Something keeps pods or volumes on it that have to leave. */
  readonly isHeldUp?: boolean
  /** What ends that. */
  readonly helps?: readonly Remedy[]
}

/** What a lifecycle says of itself. */
export interface OwnState {
  readonly phase: Phase
  /** Epoch ms. */
  readonly sinceMs: number
  /** Why its NodeClaim leaves, in words; absent: it does not, or the lifecycle has not seen it yet. */
  readonly leaves?: string
  /** What the lifecycle waits for, in words. */
  readonly waitingFor: string
  /** The hold on the NodeClaim at the last observation, in words. */
  readonly hold?: string
  readonly lastCapacityFailure?: string
  /** What holds up the drain, and since when: pods with their PodDisruptionBudgets or annotations, and volumes. */
  readonly drain?: DrainWaits
}

/** Returns the state of a node as its lifecycle describes it. */
export function stateOfLifecycle(nodeClaim: string, own: OwnState): NodeState {
  const { phase, sinceMs, leaves, waitingFor, hold, lastCapacityFailure, drain } = own
  const isComing = phase === 'Launching' || phase === 'Registering' || phase === 'Initializing'
  const { on = [] } = drain ?? {}
  return {
    nodeClaim,
    phase,
    sinceMs,
    // A node that is used waits for nothing that matters, and one that is gone for nothing at all.
    ...defined({ leaves, hold, waitsFor: phase === 'Ready' || phase === 'Gone' ? undefined : waitingFor }),
    isRetried: isComing && lastCapacityFailure !== undefined,
    isHeldUp: on.length > 0,
    helps: [...new Set(on.flatMap((wait) => remedyFor(wait) ?? []))].map((command) => ({ command })),
  }
}

/** Returns what is to be known of a node beside its phase: why it leaves and what it waits for, who holds it, what is odd. None: nothing. */
export function notesOf({ leaves, waitsFor, unowned, hold, oddities = [] }: NodeState): readonly string[] {
  const first = leaves === undefined ? [] : [[leaves, waitsFor].filter((part) => part !== undefined).join(': ')]
  const others = [unowned, leaves === undefined ? waitsFor : undefined, hold, ...oddities]
  return [...first, ...others].filter((note) => note !== undefined && note !== '') as readonly string[]
}

/** Returns the headline of a node: `Draining since 2026-11-29T12:00:00Z: Underutilized: 2 pods leave`. */
export function headlineText(state: NodeState): string {
  const { phase, sinceMs } = state
  const [first] = notesOf(state)
  const since = Number.isNaN(sinceMs) ? '' : ` since ${timeText(sinceMs)}`
  return `${phase}${since}${first === undefined ? '' : `: ${first}`}`
}

/** Returns what helps a node: first what ends the cause, and ending its lifecycle by force at last. None: nothing has to be done. */
export function remediesOf(state: NodeState): readonly Remedy[] {
  const { nodeClaim, phase, hold, isRetried = false, isHeldUp = false, helps = [] } = state
  if (nodeClaim === undefined) return helps
  const isLeaving = phase === 'Draining' || phase === 'Terminating'
  return [
    ...(isRetried ? [{ what: 'try at once', command: `joiner node retry ${nodeClaim}` }] : []),
    ...helps,
    // A hold does not stop a deletion that has begun.
    ...(hold === undefined || isLeaving ? [] : [{ what: 'end the hold', command: `joiner node release ${nodeClaim}` }]),
    ...(isLeaving && (isHeldUp || isRetried)
      ? [
          {
            what: 'as a last resort, without eviction',
            command: `joiner node force-finish ${nodeClaim} --reason WHY`,
          },
        ]
      : []),
  ]
}

/** Returns what helps as one text. */
export function remedyText({ what, command }: Remedy): string {
  return [what, command].filter((part) => part !== undefined).join(': ')
}
