import { conditionOf, isTrue, nodeGone } from '../conditions.ts'
import { nodeDeleted } from '../machines-in-use.ts'
import type { NodeClaim } from '../objects.ts'

/** What a lifecycle does in each of its phases, in the order in which a node passes them. */
export const phaseMeanings = {
  Launching: 'a VM is being created at Azure',
  Registering: 'Azure accepted the VM, and its Node has not joined yet',
  Initializing: 'the Node joined, and is not ready for pods yet',
  Ready: 'pods can run on it',
  Rebooting: 'a node repair restarts its VM',
  Draining: 'the NodeClaim is being deleted; pods and volumes leave the Node',
  Terminating: 'Azure deletes the VM',
  Gone: 'Node, NodeClaim and VM are gone',
} as const

export type Phase = keyof typeof phaseMeanings

/** All phases in the order in which a node passes them. */
export const phases = Object.keys(phaseMeanings) as readonly Phase[]

/** Phase of a NodeClaim by its own conditions. */
export interface ClaimPhase {
  readonly phase: Exclude<Phase, 'Gone'>
  /** Epoch ms. */
  readonly sinceMs: number
  /** What is waited for, as the open condition says; unset when it says nothing. */
  readonly because?: string
}

/** As much of a claim as its phase follows from. */
interface ConditionedClaim extends Pick<NodeClaim, 'metadata'> {
  readonly status: Pick<NodeClaim['status'], 'conditions'>
}

/** Returns the phase of a claim by its conditions alone, for when its lifecycle cannot be queried. */
export function phaseOf({ metadata, status: { conditions } }: ConditionedClaim): ClaimPhase {
  const { deletionTimestamp, creationTimestamp } = metadata
  const since = (type: string, otherwise: string) =>
    Date.parse(conditionOf(conditions, type)?.lastTransitionTime ?? otherwise)
  const said = (...types: readonly string[]) => {
    const open = types.map((type) => conditionOf(conditions, type)).find((one) => one?.message && one.status !== 'True')
    return open?.message === undefined ? {} : { because: open.message }
  }
  if (deletionTimestamp !== undefined) {
    return isTrue(conditions, 'InstanceTerminating')
      ? { phase: 'Terminating', sinceMs: since('InstanceTerminating', deletionTimestamp), ...said(nodeDeleted) }
      : { phase: 'Draining', sinceMs: Date.parse(deletionTimestamp), ...said('VolumesDetached', 'Drained') }
  }
  if (isTrue(conditions, 'Rebooting'))
    return {
      phase: 'Rebooting',
      sinceMs: since('Rebooting', creationTimestamp),
      because: conditionOf(conditions, 'Rebooting')?.message || 'its VM to restart',
    }
  if (!isTrue(conditions, 'Launched'))
    return { phase: 'Launching', sinceMs: Date.parse(creationTimestamp), ...said('Launched') }
  if (!isTrue(conditions, 'Registered'))
    return { phase: 'Registering', sinceMs: since('Launched', creationTimestamp), ...said('Registered') }
  const gone = conditionOf(conditions, nodeGone)
  if (gone?.status === 'True')
    return { phase: 'Registering', sinceMs: since(nodeGone, creationTimestamp), because: gone.message ?? '' }
  if (!isTrue(conditions, 'Initialized'))
    return { phase: 'Initializing', sinceMs: since('Registered', creationTimestamp), ...said('Initialized') }
  return { phase: 'Ready', sinceMs: since('Initialized', creationTimestamp) }
}
