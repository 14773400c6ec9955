import type { DisruptionView } from '../../core/disruption/candidates.ts'
import type { EvaluationSettings } from '../../core/disruption/evaluate.ts'
import type { Proposed } from '../../core/disruption/validate.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import type { Pause } from '../../core/pauses/pauses.ts'
import type { IndexedKind, IndexedObjects } from '../../core/scheduling/cluster-index.ts'
import type { PlannedNodeClaim, SchedulingOptions, SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/topology/spread-defaults.ts'
import type { UnschedulableCause } from '../../core/scheduling/unschedulable.ts'
import type { KeyedEvaluation, KeyedValidation } from './keyed-evaluation.ts'

/** An object as it is now, by its key in the watch cache; undefined: it is gone. */
export interface IndexChange {
  readonly kind: IndexedKind
  readonly key: string
  readonly object: IndexedObjects[IndexedKind] | undefined
}

/** What to plan with, besides the cluster itself. */
export interface PlanRequest {
  /** Epoch ms. */
  readonly now: number
  /** Numbers of the type lists that NodePools can buy from, by pool; pools without one take no part. */
  readonly typeLists: ReadonlyMap<string, number>
  readonly options: Omit<SchedulingOptions, 'shouldStop' | 'heavyPodsBegin' | 'inHand'>
  readonly defaultSpread: readonly DefaultSpreadConstraint[]
  /** The pass ends after so many milliseconds with what it has planned by then. */
  readonly timeLimitMs: number
  /** Names of pods that are not to be planned now. */
  readonly leftOut: ReadonlySet<string>
  /** Groups of pods that share new NodeClaims with nobody else, by the pods' names. */
  readonly apart: ReadonlyMap<string, string>
}

/** What to evaluate with, besides the cluster itself. */
export interface EvaluationRequest
  extends Pick<PlanRequest, 'now' | 'typeLists' | 'options' | 'defaultSpread'>,
    Omit<EvaluationSettings, 'instanceTypes' | 'wellKnown' | 'scheduling' | 'policy' | 'clock'>,
    Pick<DisruptionView, 'nominated' | 'reserved'> {
  /** Pauses in force. */
  readonly pauses: readonly Pause[]
  /** Present: only which of these still hold, each with those before it decided that do. */
  readonly together?: readonly Proposed[]
}

/** What a thread is started with. */
export interface ThreadData {
  /** See `Breadcrumb`. */
  readonly breadcrumb: SharedArrayBuffer
}

/** To the thread. Messages are handled in order, so a plan sees every change that was sent before. */
export type ToSolver =
  | { readonly kind: 'changes'; readonly changes: readonly IndexChange[] }
  | { readonly kind: 'types'; readonly list: number; readonly types: readonly InstanceType[] }
  | { readonly kind: 'forgetTypes'; readonly list: number }
  | { readonly kind: 'plan'; readonly request: PlanRequest }
  | { readonly kind: 'evaluate'; readonly request: EvaluationRequest }
  | { readonly kind: 'ping' }

/** A plan in which pods go by their keys: the other side has the objects. */
export interface KeyedPlan {
  readonly newNodeClaims: readonly (Omit<PlannedNodeClaim, 'pods'> & { readonly pods: readonly string[] })[]
  readonly existing: readonly { readonly node: string; readonly nodeClaim?: string; readonly pods: readonly string[] }[]
  readonly unschedulable: readonly { readonly pod: string; readonly cause: UnschedulableCause }[]
  readonly postponed: readonly string[]
  readonly stopped: boolean
  readonly incompatiblePools?: NonNullable<SchedulingPlan['incompatiblePools']>
  readonly snapshotMs: number
  readonly solveMs: number
  /** Pods that were left out before anything was tried; they are among the unschedulable ones. */
  readonly ignored: number
  /** How many of the pods can go to which zone. */
  readonly zones: ReadonlyMap<string, number>
}

/** From the thread: the answers to what was asked, in their order. */
export type FromSolver =
  | { readonly kind: 'plan'; readonly plan: KeyedPlan }
  | { readonly kind: 'evaluation'; readonly evaluation: KeyedEvaluation }
  | { readonly kind: 'validations'; readonly validations: readonly KeyedValidation[] }
  | { readonly kind: 'pong' }
  | { readonly kind: 'failed'; readonly message: string; readonly stack?: string | undefined }
