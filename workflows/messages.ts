import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import type { PlanSummary } from '../activities/disruption/contract.ts'
import type { ApplyRequest, ConsolidateRequest, PlanRequest } from '../core/disruption/plan/plan-requests.ts'
import type { DetailedLife } from '../core/history/details.ts'
import type { OwnState } from '../core/history/headline.ts'
import type { Leaving } from '../core/history/life.ts'
import type { ForceFinishRequest, HoldRequest, ReleaseRequest, RetryRequest } from '../core/node-claim/node-requests.ts'
import type { PauseRequest, ResumeRequest } from '../core/pauses/pause-requests.ts'
import type { Pause } from '../core/pauses/pauses.ts'

/**
 * Asks the receiver to observe again; the text says what happened, for those who read the history. Of a NodeClaim that goes while its Nodes have yet to be
 * drained it also says why, which saves the look before the drain. Each step reads by itself whether it may act, so lost, doubled and reordered pokes
 * change nothing, and a forged one costs a step that is refused.
 */
export const pokeSignal = defineSignal<[string?, Leaving?]>('observeAgain')

export const pauseSignal = defineSignal<[(PauseRequest | null)?]>('pause')
export const resumeSignal = defineSignal<[(ResumeRequest | null)?]>('resume')

/** Answer of the updates `pause` and `resume` once the cluster's ConfigMap holds the requested pauses. */
export interface PauseAnswer {
  /** The current state, in words. */
  readonly message: string
  /** Pauses in force that were replaced or lifted. */
  readonly before: readonly Pause[]
  /** All pauses of the loop that are in force now. */
  readonly inForce: readonly Pause[]
}

export const pauseUpdate = defineUpdate<PauseAnswer, [PauseRequest | null]>('pause')
export const resumeUpdate = defineUpdate<PauseAnswer, [ResumeRequest | null]>('resume')
export const consolidateNowSignal = defineSignal<[(ConsolidateRequest | null)?]>('consolidateNow')

/** Answers with the summary that a history holds of the plan. The plan itself is in a ConfigMap of Joiner's namespace. */
export const planUpdate = defineUpdate<PlanSummary, [PlanRequest | null]>('plan')

/** A disruption command that was begun. */
export interface StartedCommand {
  readonly id: string
  readonly reason: string
  /** Names of the Nodes that are removed. */
  readonly nodes: readonly string[]
  /** Names of the NodeClaims that are created. */
  readonly replacements: readonly string[]
  /** USD an hour. */
  readonly savings: number
}

/** Outcome of an operator's request. */
export type RequestAnswer =
  | {
      readonly kind: 'done'
      readonly started: readonly StartedCommand[]
      /** Commands that the last live validation rejected. */
      readonly rejected: readonly {
        readonly id: string
        readonly nodes: readonly string[]
        readonly message: string
      }[]
      /** Why commands of a plan were left out. */
      readonly changes: readonly string[]
      /** Pauses of a part of the cluster, in words: nothing was started there. */
      readonly pauses: readonly string[]
    }
  /** The plan no longer holds, and nothing was done. */
  | { readonly kind: 'changed'; readonly changes: readonly string[] }
  /** Nothing was done. `message` is the obstacle, such as a pause. */
  | { readonly kind: 'refused'; readonly message: string }

export const applyUpdate = defineUpdate<RequestAnswer, [ApplyRequest]>('apply')
export const consolidateUpdate = defineUpdate<RequestAnswer, [ConsolidateRequest | null]>('consolidate')

/** Outcome of a message to a lifecycle. */
export type NodeAnswer =
  | {
      readonly kind: 'done'
      /** The current state, in words. */
      readonly message: string
      /** Resource id of a VM that was left to garbage collection. */
      readonly vm?: string
    }
  /** Nothing was done. `message` is the reason and the remedy. */
  | { readonly kind: 'refused'; readonly message: string }

export const retryNowSignal = defineSignal<[(RetryRequest | null)?]>('retryNow')
export const holdSignal = defineSignal<[(HoldRequest | null)?]>('hold')
export const releaseSignal = defineSignal<[(ReleaseRequest | null)?]>('release')
export const forceFinishSignal = defineSignal<[(ForceFinishRequest | null)?]>('forceFinish')
/** What Temporal's UI says of the signals to a lifecycle. */
export const nodeSignals = [
  {
    signal: retryNowSignal,
    description:
      'End whatever the lifecycle waits for now, above all a wait between two attempts, and start the step again from the present state: {"reason": "...", "by": "..."}, all optional.',
  },
  {
    signal: holdSignal,
    description:
      'Disruption leaves the node alone until it is released: {"reason": "...", "until": "RFC 3339 time", "expiry": true to hold up expireAfter as well, "by": "..."}, all optional. It stops neither interruption nor a deletion.',
  },
  { signal: releaseSignal, description: 'End the hold: {"by": "..."}, optional.' },
  {
    signal: forceFinishSignal,
    description:
      'End the lifecycle of a NodeClaim whose deletion hangs, without waiting for pods and volumes: {"reason": "...", "leaveVm": true to leave a VM that exists to garbage collection, "by": "...", "at": the time now as RFC 3339}; reason and at are needed. Refused while the VM exists, and while the NodeClaim is not being deleted.',
  },
] as const

export const retryNowUpdate = defineUpdate<NodeAnswer, [RetryRequest | null]>('retryNow')
export const holdUpdate = defineUpdate<NodeAnswer, [HoldRequest | null]>('hold')
export const releaseUpdate = defineUpdate<NodeAnswer, [ReleaseRequest | null]>('release')
export const forceFinishUpdate = defineUpdate<NodeAnswer, [ForceFinishRequest]>('forceFinish')

export interface LifecycleStatus extends OwnState, Pick<DetailedLife, 'refused'> {
  readonly attempt: number
}

export const lifecycleStatusQuery = defineQuery<LifecycleStatus>('status')

export interface LoopStatus {
  readonly doing: string
  readonly sinceMs: number
  /** The pause of the whole loop. */
  readonly pause?: Pause
  /** Pauses of a part: the loop goes on without it. Expired pauses are ignored and may still be listed. */
  readonly partialPauses?: readonly Pause[]
}

export const loopStatusQuery = defineQuery<LoopStatus>('status')

export interface CommandStatus {
  /** The current activity, in words. */
  readonly doing: string
  readonly sinceMs: number
  readonly reason: string
  readonly candidates: readonly string[]
  readonly replacements: readonly string[]
  /** Until when it waits to be validated again, in epoch ms; absent: it was committed, or is not validated a second time. */
  readonly dueMs?: number
  /** Until when the replacements have to be initialized, in epoch ms; absent: it is not committed. */
  readonly readyByMs?: number
}

export const commandStatusQuery = defineQuery<CommandStatus>('status')

/** Tells the pass that started a command that it was committed. Rejected ones end at once. */
export const committedSignal = defineSignal<[StartedCommand]>('committed')

/** A validator's refusal: an update is not accepted when it throws. */
export function refuse(why: string | undefined): void {
  if (why !== undefined) throw new Error(why)
}
