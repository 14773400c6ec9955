import type { DisruptionView } from '../../core/disruption/candidates.ts'
import type { EvaluationSettings } from '../../core/disruption/evaluate.ts'
import type { Proposed } from '../../core/disruption/validate.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import type { RepairPolicy } from '../../core/node-repair/repair-policy.ts'
import type { Pause } from '../../core/pauses/pauses.ts'
import type { IndexedKind, IndexedObjects } from '../../core/scheduling/cluster-index.ts'
import type { Explanation } from '../../core/scheduling/explain/explanation.ts'
import type { SchedulingOptions, SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/topology/spread-defaults.ts'
import type { UnschedulableCause } from '../../core/scheduling/unschedulable.ts'
import type { KeyedEvaluation, KeyedPlacement, KeyedValidation } from './keyed-evaluation.ts'

/** An object as it is now, by its key in the watch cache; undefined when it is gone. */
export interface IndexChange {
  readonly kind: IndexedKind
  readonly key: string
  readonly object: IndexedObjects[IndexedKind] | undefined
}

/** Inputs of a plan, besides the cluster itself. */
export interface PlanRequest {
  /** Epoch ms. */
  readonly now: number
  /** Numbers of the type lists that NodePools can buy from, by pool; pools without one take no part. */
  readonly typeLists: ReadonlyMap<string, number>
  readonly options: Omit<SchedulingOptions, 'shouldStop' | 'heavyPodsBegin' | 'inHand'>
  readonly defaultSpread: readonly DefaultSpreadConstraint[]
  /** Milliseconds after which the pass ends with what it has planned by then. */
  readonly timeLimitMs: number
  /** Names of pods that are not to be planned now. */
  readonly leftOut: ReadonlySet<string>
  /** Groups of pods that share new NodeClaims with no other pods, by the pods' names. */
  readonly apart: ReadonlyMap<string, string>
}

/** Inputs of an evaluation, besides the cluster itself. */
export interface EvaluationRequest
  extends Pick<PlanRequest, 'now' | 'typeLists' | 'options' | 'defaultSpread'>,
    Omit<EvaluationSettings, 'instanceTypes' | 'wellKnown' | 'scheduling' | 'policy' | 'clock'>,
    Pick<DisruptionView, 'isClockWrong' | 'nominated' | 'reserved'> {
  readonly repairs?: readonly RepairPolicy[]
  /** Whether nodes of static NodePools are replaced (feature gate StaticCapacity). */
  readonly staticCapacity: boolean
  readonly pauses: readonly Pause[]
  /** If set, checks only which of these proposals still hold, each after the earlier ones that do. */
  readonly together?: readonly Proposed[]
}

/** Pods of the last plan that found no place, by name. As many as the time allows are explained, in this order. */
export interface ExplainRequest {
  readonly pods: readonly string[]
  readonly timeLimitMs: number
}

export interface ThreadData {
  /** See `Breadcrumb`. */
  readonly breadcrumb: SharedArrayBuffer
}

/** A type that the thread has in another list, by its place there. Lists that follow each other differ in few of their types. */
export interface KnownType {
  readonly list: number
  readonly at: number
}

/** Messages to the thread. It handles them in order, so a plan sees every change that was sent before. */
export type ToSolver =
  | { readonly kind: 'changes'; readonly changes: readonly IndexChange[] }
  | { readonly kind: 'types'; readonly list: number; readonly types: readonly (InstanceType | KnownType)[] }
  | { readonly kind: 'forgetTypes'; readonly list: number }
  | { readonly kind: 'plan'; readonly request: PlanRequest }
  | { readonly kind: 'explain'; readonly request: ExplainRequest }
  | { readonly kind: 'evaluate'; readonly request: EvaluationRequest }
  | { readonly kind: 'ping' }

/** A plan that names its pods by their keys: the other side has the objects. */
export interface KeyedPlan extends KeyedPlacement {
  readonly unschedulable: readonly { readonly pod: string; readonly cause: UnschedulableCause }[]
  readonly postponed: readonly string[]
  readonly stopped: boolean
  readonly incompatiblePools?: NonNullable<SchedulingPlan['incompatiblePools']>
  readonly snapshotMs: number
  readonly solveMs: number
  /** Number of pods that were left out before anything was tried; they are among the unschedulable ones. */
  readonly ignored: number
  /** Number of pods by the zone they can go to. */
  readonly zones: ReadonlyMap<string, number>
}

/** Messages from the thread: the answers, in the order of the questions. */
export type FromSolver =
  | { readonly kind: 'plan'; readonly plan: KeyedPlan }
  | { readonly kind: 'evaluation'; readonly evaluation: KeyedEvaluation }
  | { readonly kind: 'validations'; readonly validations: readonly KeyedValidation[] }
  /** By the pods' names. */
  | { readonly kind: 'explanations'; readonly explanations: ReadonlyMap<string, Explanation> }
  | { readonly kind: 'pong' }
  | { readonly kind: 'failed'; readonly message: string; readonly stack?: string | undefined }
