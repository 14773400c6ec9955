import type { Hold } from '../../node-claim/hold.ts'
import type { PausableReason, Pause } from '../../pauses/pauses.ts'
import type { Score } from '../score.ts'

/** A pod that keeps its node, as `namespace/name`, and why it would not find another place. */
export interface BlockingPod {
  readonly name: string
  readonly constraint?: string
}

/** How many pods a cause names, as upstream's events do. */
export const mostNamedPods = 5

/** What forbids the disruption of a node, whatever a method would do with it (reference/karpenter-core.md 4.2). */
type NodeCause =
  | { readonly kind: 'no-node' }
  | { readonly kind: 'rebooting' }
  /** It is being deleted, or a command has it. */
  | { readonly kind: 'leaving' }
  | { readonly kind: 'not-initialized'; readonly isRegistered: boolean }
  | { readonly kind: 'nominated' }
  | { readonly kind: 'held'; readonly hold: Hold }
  | { readonly kind: 'do-not-disrupt' }
  | { readonly kind: 'no-node-pool-label' }
  | { readonly kind: 'no-node-pool'; readonly nodePool: string }
  | { readonly kind: 'paused'; readonly pause: Pause }

/** A pod that forbids the disruption of its node. Names are `namespace/name`. */
export type PodBlock = { readonly kind: 'pod-do-not-disrupt'; readonly pod: string } | EvictionBlock

export type EvictionBlock =
  | { readonly kind: 'pdb'; readonly pod: string; readonly podDisruptionBudgets: readonly string[] }
  /** More than one selects the pod, which no eviction can honour. */
  | { readonly kind: 'several-pdbs'; readonly pod: string; readonly podDisruptionBudgets: readonly string[] }

/** Why a method is not about a node. */
type UnsuitableCause =
  | { readonly kind: 'unknown-instance-type'; readonly instanceType: string }
  | { readonly kind: 'no-label'; readonly label: string }
  | { readonly kind: 'consolidation-disabled'; readonly nodePool: string }
  | { readonly kind: 'only-when-empty'; readonly nodePool: string }
  | { readonly kind: 'not-consolidatable'; readonly consolidateAfter: string }
  | { readonly kind: 'not-drifted' }
  | { readonly kind: 'static-pool-not-consolidated' }
  | { readonly kind: 'static-pool-not-replaced' }
  | { readonly kind: 'no-static-pool' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'not-empty' }

/** Why a method has not come to a node. */
type NotLookedAtCause =
  | { readonly kind: 'command-failed' }
  | { readonly kind: 'other-nodes-first' }
  | { readonly kind: 'other-drifted-first' }
  | { readonly kind: 'other-static-first' }
  | { readonly kind: 'no-set-of-nodes' }
  | { readonly kind: 'pods-expected' }

/** Why a node can neither go nor be replaced (reference/karpenter-core.md 4.7). */
export type Hindrance =
  /** `pods`: the first few of `count`. */
  | { readonly kind: 'pods-without-place'; readonly pods: readonly BlockingPod[]; readonly count: number }
  | { readonly kind: 'several-new-nodes'; readonly count: number }
  | { readonly kind: 'min-values'; readonly labels: readonly string[] }
  | { readonly kind: 'nothing-cheaper' }
  | { readonly kind: 'nothing-cheaper-than-one' }
  | { readonly kind: 'spot-to-spot-disabled' }
  | { readonly kind: 'few-spot-types'; readonly needed: number; readonly found: number }
  | { readonly kind: 'no-ready-pool' }
  | { readonly kind: 'static-pool-at-limit' }
  | { readonly kind: 'static-pool-reservations-full' }

/** Why a node that could go stays. */
type RefusalCause =
  | { readonly kind: 'budget'; readonly nodePool: string }
  /** The budget that an operator asked for. */
  | { readonly kind: 'requested-budget'; readonly nodes: number }
  | { readonly kind: 'deletion-saves-too-little' }
  | { readonly kind: 'saves-too-little'; readonly scores: readonly Omit<Score, 'value'>[] }

/** Why a node goes. */
type ChosenCause =
  | { readonly kind: 'chosen-empty' }
  | { readonly kind: 'chosen-drifted' }
  | { readonly kind: 'chosen-together'; readonly nodes: number }
  | { readonly kind: 'chosen-underutilized' }

/**
 * Why a node or NodePool is disrupted or is not, with the facts of it. Code decides by its kind; `causeText` makes the text where somebody reads it.
 * It is plain JSON, since verdicts and plans are stored with it (`api/disruption-move.ts` reads them).
 */
export type Cause =
  | NodeCause
  | PodBlock
  /** No budget of a NodePool lets any node go for a reason. */
  | { readonly kind: 'no-disruptions-allowed'; readonly reason: PausableReason }
  | UnsuitableCause
  | NotLookedAtCause
  | Hindrance
  | RefusalCause
  | ChosenCause

/** True of every node for a while, such as before it is initialized: nothing that its owner could fix. */
const passing: ReadonlySet<Cause['kind']> = new Set(['no-node', 'rebooting', 'leaving', 'not-initialized', 'nominated'])

/** Whether a cause goes away without anybody's doing. */
export function isPassing({ kind }: Cause): boolean {
  return passing.has(kind)
}

/** The pods that keep the node, as far as the cause names them; `more`: how many there are beyond those. */
export function podsOf(cause: Cause): { readonly pods: readonly BlockingPod[]; readonly more: number } {
  if (cause.kind === 'pods-without-place') return { pods: cause.pods, more: cause.count - cause.pods.length }
  return { pods: 'pod' in cause ? [{ name: cause.pod }] : [], more: 0 }
}

/** The PodDisruptionBudgets that keep the node, as `namespace/name`. */
export function podDisruptionBudgetsOf(cause: Cause): readonly string[] {
  return 'podDisruptionBudgets' in cause ? cause.podDisruptionBudgets : []
}
