import type { Adoption, AdoptionOutcome } from '../../core/adoption.ts'
import type { CommandTerms, DisruptionReason } from '../../core/disruption/command.ts'
import type { ApplyRequest, ConsolidateRequest, PlanRequest } from '../../core/disruption/plan/plan-requests.ts'
import type { CandidateRef, ClaimRef } from '../kubernetes/contract.ts'

/** A disruption that was decided but not yet begun. */
export interface DisruptionProposal extends CommandTerms {
  /** Made of the method, a digest of the candidates, and a part that no other has. */
  readonly id: string
  /** Which of two is committed first: epoch ms of the evaluation, and the place in it. */
  readonly order: readonly [number, number]
  readonly reason: DisruptionReason
  /** Requested by an operator: consolidateAfter does not apply, and nothing is validated after a delay. */
  readonly forced: boolean
  readonly candidates: readonly CandidateRef[]
  /** Number of NodeClaims that replace the candidates. */
  readonly replacements: number
}

/** What a pass came to that an operator asked for. */
export type PassOutcome =
  /** Proposals that hold together, to be committed in this order: maybe none. */
  { readonly kind: 'proposed'; readonly proposals: readonly DisruptionProposal[] } | { readonly kind: 'paused' }

export type CommitOutcome =
  | {
      readonly kind: 'committed'
      readonly candidates: readonly CandidateRef[]
      readonly replacements: readonly ClaimRef[]
      /** Epoch ms until which the replacements have to be initialized. */
      readonly readyByMs: number
      /** Epoch ms of the commit, for the wait that follows. */
      readonly committedMs: number
      /** USD an hour. */
      readonly savings: number
    }
  /** The repair is left to the lifecycle of the node, which reboots its VM. */
  | { readonly kind: 'handedOver' }
  /** The proposal does not hold any more; nothing was written, or all writes are undone. */
  | { readonly kind: 'rejected'; readonly message: string }

/** Summary of a plan for a history; the plan itself is in a ConfigMap. */
export interface PlanSummary {
  readonly id: string
  readonly commands: number
  /** Numbers of nodes that would go, and that would come. */
  readonly nodes: number
  readonly newNodes: number
  /** USD an hour. */
  readonly savings: number
}

export type PlanCheck =
  /** To be committed in this order. `changes`: of commands that do not hold and are left out. */
  | { readonly kind: 'holds'; readonly proposals: readonly DisruptionProposal[]; readonly changes: readonly string[] }
  /** Differences from the plan, a line each. */
  | { readonly kind: 'changed'; readonly changes: readonly string[] }
  /** There is no such plan, it has no commands, or a pause forbids it. */
  | { readonly kind: 'refused'; readonly message: string }

export interface DisruptionActivities {
  /** Evaluates the cluster at once, without regard to consolidateAfter. */
  consolidateNow(request: ConsolidateRequest): Promise<PassOutcome>
  /**
   * Validates a proposal against live state, marks its candidates and creates the replacements. Run again, it finds that done, or undoes it. One at a
   * time in the process that plans, in the order of the proposals.
   */
  commitDisruption(proposal: DisruptionProposal): Promise<CommitOutcome>
  /** Keeps what disruption would do now as a plan. Nothing else is written. */
  planDisruption(request: PlanRequest): Promise<PlanSummary>
  /** Compares a plan with the cluster as it is, and proposes the part that still holds. */
  checkPlan(request: ApplyRequest): Promise<PlanCheck>
  /** Makes the NodeClaims of VMs again that lost them. Run again, it finds those that it made. */
  adoptMachines(input: { readonly machines: readonly Adoption[] }): Promise<readonly AdoptionOutcome[]>
}
