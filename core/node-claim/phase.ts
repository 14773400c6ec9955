import { conditionOf, isTrue } from '../conditions.ts'
import type { NodeClaim } from '../objects.ts'

/** Where a NodeClaim is, as its own conditions tell. */
export interface ClaimPhase {
  /** Named as the lifecycle's phases. */
  readonly phase: 'Launching' | 'Registering' | 'Initializing' | 'Ready' | 'Draining' | 'Terminating'
  /** Epoch ms. */
  readonly sinceMs: number
  /** What is waited for, as the condition that is open says; absent: it says nothing. */
  readonly because?: string
}

/** The phase of a claim by its conditions alone: what is known of it while its lifecycle cannot be asked. */
export function phaseOf({ metadata, status: { conditions } }: NodeClaim): ClaimPhase {
  const { deletionTimestamp, creationTimestamp } = metadata
  const since = (type: string, otherwise: string) =>
    Date.parse(conditionOf(conditions, type)?.lastTransitionTime ?? otherwise)
  const said = (...types: readonly string[]) => {
    const open = types.map((type) => conditionOf(conditions, type)).find((one) => one?.message && one.status !== 'True')
    return open?.message === undefined ? {} : { because: open.message }
  }
  if (deletionTimestamp !== undefined) {
    return isTrue(conditions, 'InstanceTerminating')
      ? { phase: 'Terminating', sinceMs: since('InstanceTerminating', deletionTimestamp) }
      : { phase: 'Draining', sinceMs: Date.parse(deletionTimestamp), ...said('VolumesDetached', 'Drained') }
  }
  if (!isTrue(conditions, 'Launched'))
    return { phase: 'Launching', sinceMs: Date.parse(creationTimestamp), ...said('Launched') }
  if (!isTrue(conditions, 'Registered'))
    return { phase: 'Registering', sinceMs: since('Launched', creationTimestamp), ...said('Registered') }
  if (!isTrue(conditions, 'Initialized'))
    return { phase: 'Initializing', sinceMs: since('Registered', creationTimestamp), ...said('Initialized') }
  return { phase: 'Ready', sinceMs: since('Initialized', creationTimestamp) }
}
