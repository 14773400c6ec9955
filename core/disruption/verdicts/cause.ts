import type { Hold } from '../../node-claim/hold.ts'
import type { PausableReason, Pause } from '../../pauses/pauses.ts'
import type { Score } from '../score.ts'

/** A pod that keeps its node, as `namespace/name`, and why it would find no other place. */
export interface BlockingPod {
  readonly name: string
  readonly constraint?: string
}

/** Most pods that a cause names, as in upstream's events. */
export const mostNamedPods = 5

/** Reasons that forbid a node's disruption by any method (reference/karpenter-core.md 4.2). */
type NodeCause =
  | { readonly kind: 'no-node' }
  | { readonly kind: 'rebooting' }
  /** It is being deleted, or belongs to a command. */
  | { readonly kind: 'leaving' }
  | { readonly kind: 'not-initialized'; readonly isRegistered: boolean }
  | { readonly kind: 'nominated' }
  | { readonly kind: 'held'; readonly hold: Hold }
  | { readonly kind: 'do-not-disrupt' }
  | { readonly kind: 'repair-needs-node-pool' }
  | { readonly kind: 'no-node-pool-label' }
  | { readonly kind: 'no-node-pool'; readonly nodePool: string }
  | { readonly kind: 'paused'; readonly pause: Pause }

/** A pod that forbids the disruption of its node. Names are `namespace/name`. */
export type PodBlock = { readonly kind: 'pod-do-not-disrupt'; readonly pod: string } | EvictionBlock

export type EvictionBlock =
  | { readonly kind: 'pdb'; readonly pod: string; readonly podDisruptionBudgets: readonly string[] }
  /** Several PodDisruptionBudgets select the pod, so no eviction can honour them. */
  | { readonly kind: 'several-pdbs'; readonly pod: string; readonly podDisruptionBudgets: readonly string[] }

/** Why a sick node is not repaired now (reference/karpenter-1.15.md 4.8a). */
type RepairCause =
  /** `until`: RFC 3339. */
  | { readonly kind: 'condition-tolerated'; readonly condition: string; readonly until: string }
  | { readonly kind: 'do-not-repair' }
  /** The planner's clock is more than a minute from the API server's. */
  | { readonly kind: 'clock-wrong' }
  /** Pods of it must not be disrupted, and no time bounds the wait for them. */
  | { readonly kind: 'repair-unbounded'; readonly pod: string }
  | { readonly kind: 'too-many-unhealthy'; readonly nodePool: string }
  | { readonly kind: 'healthy' }

/** Why a method does not apply to a node. */
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
  /** Virtual pods of CapacityBuffers need its room. */
  | { readonly kind: 'buffer-pods'; readonly node: string; readonly buffers: readonly string[] }

/** Why a method did not reach a node. */
type NotLookedAtCause =
  | { readonly kind: 'command-failed' }
  | { readonly kind: 'other-nodes-first' }
  | { readonly kind: 'other-drifted-first' }
  | { readonly kind: 'other-unhealthy-first' }
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
  | { readonly kind: 'static-pool-not-ready'; readonly nodePool: string }
  /** A node with a new image of the AKSNodeClass has to initialize first. */
  | { readonly kind: 'image-on-trial'; readonly nodeClass: string }
  | { readonly kind: 'static-pool-at-limit' }
  | { readonly kind: 'static-pool-reservations-full' }

/** Why a node that could go stays. */
type RefusalCause =
  | { readonly kind: 'budget'; readonly nodePool: string }
  /** The budget that an operator requested. */
  | { readonly kind: 'requested-budget'; readonly nodes: number }
  | { readonly kind: 'deletion-saves-too-little' }
  | { readonly kind: 'saves-too-little'; readonly scores: readonly Omit<Score, 'value'>[] }

/** Why a node goes. */
type ChosenCause =
  | { readonly kind: 'chosen-empty' }
  | { readonly kind: 'chosen-drifted' }
  | { readonly kind: 'chosen-unhealthy'; readonly condition: string; readonly reason: string }
  | { readonly kind: 'chosen-together'; readonly nodes: number }
  | { readonly kind: 'chosen-underutilized' }

/**
 * Why a node or NodePool is disrupted or not, with its facts. Code decides by its kind; `causeText` makes the text for readers. It is plain JSON,
 * since verdicts and plans store it (`api/disruption-move.ts` reads them).
 */
export type Cause =
  | NodeCause
  | PodBlock
  | RepairCause
  /** No budget of a NodePool allows any disruption for a reason. */
  | { readonly kind: 'no-disruptions-allowed'; readonly reason: PausableReason }
  | UnsuitableCause
  | NotLookedAtCause
  | Hindrance
  | RefusalCause
  | ChosenCause

/** Causes that hold for every node for a while, such as before initialization: its owner could fix nothing. */
const passing: ReadonlySet<Cause['kind']> = new Set(['no-node', 'rebooting', 'leaving', 'not-initialized', 'nominated'])

/** Whether a cause goes away without any action. */
export function isPassing({ kind }: Cause): boolean {
  return passing.has(kind)
}

/** Causes that keep a node from every method, repairs included. */
const general: ReadonlySet<Cause['kind']> = new Set([...passing, 'held', 'no-node-pool'])

/** Whether a cause keeps a node from every method, so that none is kept by it any more once one is not. */
export function isGeneral({ kind }: Cause): boolean {
  return general.has(kind)
}

/** Returns the pods that keep the node, as far as the cause names them; `more`: how many others there are. */
export function podsOf(cause: Cause): { readonly pods: readonly BlockingPod[]; readonly more: number } {
  if (cause.kind === 'pods-without-place') return { pods: cause.pods, more: cause.count - cause.pods.length }
  return { pods: 'pod' in cause ? [{ name: cause.pod }] : [], more: 0 }
}

/** Returns the PodDisruptionBudgets that keep the node, as `namespace/name`. */
export function podDisruptionBudgetsOf(cause: Cause): readonly string[] {
  return 'podDisruptionBudgets' in cause ? cause.podDisruptionBudgets : []
}
