import type { Decision, DisruptionMethod, DisruptionReason } from '../../core/disruption/command.ts'
import type { ConsolidateRequest } from '../../core/disruption/plan/plan-requests.ts'
import type { PlanActivities } from '../disruption/plan-contract.ts'
import type { CandidateRef, ClaimRef } from '../kubernetes/contract.ts'

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
  /** Of the method, and of a digest of the candidates as they stood: a command that failed is proposed again under another id. */
  readonly id: string
  readonly method: DisruptionMethod
  readonly reason: DisruptionReason
  readonly decision: Decision
  /** What an operator asked for: consolidateAfter is not waited for, and nothing is validated after a delay. */
  readonly forced: boolean
  readonly candidates: readonly CandidateRef[]
  /** How many NodeClaims take their place. */
  readonly replacements: number
  /** USD an hour. */
  readonly savings: number
}

export interface DisruptionInput {
  /** Answer after one pass, whatever came of it. */
  readonly once: boolean
  /** An operator asks: consolidateAfter is not waited for. */
  readonly forced: boolean
  /** What a forced pass is to be about, and how many nodes of each pool it may take at most. */
  readonly request?: ConsolidateRequest
  /** Proposals that wait to be committed: names of their NodeClaims, and their methods. */
  readonly validating?: { readonly nodeClaims: readonly string[]; readonly methods: readonly DisruptionMethod[] }
  /** Methods of proposals that were given up since the last call, because of a pause or of what an operator asked for. */
  readonly abandoned?: readonly DisruptionMethod[]
}

export type DisruptionOutcome =
  /** They hold together, and are committed in this order. */
  | { readonly kind: 'proposed'; readonly proposals: readonly DisruptionProposal[] }
  | { readonly kind: 'idle' }
  | { readonly kind: 'paused' }

export type CommitOutcome =
  | {
      readonly kind: 'committed'
      readonly candidates: readonly CandidateRef[]
      readonly replacements: readonly ClaimRef[]
      /** Epoch ms until which the replacements have to be initialized. */
      readonly readyByMs: number
      /** USD an hour. */
      readonly savings: number
    }
  /** The proposal does not hold any more; nothing was written, or what was is undone. */
  | { readonly kind: 'rejected'; readonly message: string }

export interface PlanningActivities extends PlanActivities {
  /** Waits for pending pods, plans them and creates NodeClaims. */
  nextProvisioning(): Promise<ProvisioningOutcome>
  /** Evaluates the cluster until something should be disrupted. */
  nextDisruption(input: DisruptionInput): Promise<DisruptionOutcome>
  /**
   * Checks proposals of one evaluation against live state, marks their candidates and creates the replacements. Run again, it finds that done,
   * or undoes it. Answers in their order.
   */
  commitDisruptions(input: { readonly proposals: readonly DisruptionProposal[] }): Promise<readonly CommitOutcome[]>
}
