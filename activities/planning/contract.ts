import type { ClaimRef } from '../azure/contract.ts'
import type { PlanActivities } from './plan-contract.ts'

export type ProvisioningOutcome =
  /** NodeClaims were created and their lifecycles started. `claims` holds at most 20 of the names. */
  | {
      readonly kind: 'planned'
      readonly pods: number
      readonly nodeClaims: number
      readonly unschedulable: number
      readonly claims: readonly string[]
    }
  /** Nothing to do for half an hour: the loop checkpoints. */
  | { readonly kind: 'idle' }
  /** The loop was paused while this waited; nothing was written. */
  | { readonly kind: 'paused' }

/** A disruption that was decided but not yet begun. */
export interface DisruptionProposal {
  readonly id: string
  readonly reason: 'Empty'
  readonly candidates: readonly (ClaimRef & { readonly nodePool: string; readonly nodeName: string })[]
  /** What the operator asked for by consolidateNow: no waiting for consolidateAfter. */
  readonly forced: boolean
}

export type DisruptionOutcome =
  | { readonly kind: 'proposed'; readonly proposal: DisruptionProposal }
  | { readonly kind: 'idle' }
  | { readonly kind: 'paused' }

export type CommitOutcome =
  | { readonly kind: 'committed'; readonly candidates: readonly ClaimRef[] }
  /** Nothing of the proposal is still right; nothing was written, or what was is undone. */
  | { readonly kind: 'rejected'; readonly message: string }

export interface PlanningActivities extends PlanActivities {
  /** Waits for pending pods, plans them and creates NodeClaims. */
  nextProvisioning(): Promise<ProvisioningOutcome>
  /** Evaluates the cluster until something should be disrupted. With `once` it answers after one pass. */
  nextDisruption(input: { readonly once: boolean; readonly forced: boolean }): Promise<DisruptionOutcome>
  /** Checks a proposal against live state, then taints and stamps its candidates. Run again, it finishes or undoes. */
  commitDisruption(input: { readonly proposal: DisruptionProposal }): Promise<CommitOutcome>
}
