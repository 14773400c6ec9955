import { defineQuery, defineSignal } from '@temporalio/workflow'
import type { Pause } from '../activities/kubernetes/contract.ts'

/** "Look again": carries nothing, so lost, doubled and reordered pokes change nothing. */
export const pokeSignal = defineSignal('poke')

export interface PauseRequest {
  /** Why; shown wherever the pause shows. */
  readonly reason?: string
  /** RFC 3339 time at which the pause ends by itself. */
  readonly until?: string
}

export const pauseSignal = defineSignal<[(PauseRequest | null)?]>('pause')
export const resumeSignal = defineSignal('resume')
export const consolidateNowSignal = defineSignal('consolidateNow')

export interface LifecycleStatus {
  readonly phase: string
  readonly sinceMs: number
  readonly attempt: number
  /** What the lifecycle waits for, in words. */
  readonly waitingFor: string
  readonly lastCapacityFailure?: string
}

export const lifecycleStatusQuery = defineQuery<LifecycleStatus>('status')

export interface LoopStatus {
  readonly doing: string
  readonly sinceMs: number
  readonly pause?: Pause
  readonly rounds: number
}

export const loopStatusQuery = defineQuery<LoopStatus>('status')

export interface CommandStatus {
  readonly doing: string
  readonly candidates: readonly string[]
}

export const commandStatusQuery = defineQuery<CommandStatus>('status')
