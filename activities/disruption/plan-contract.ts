import type { ApplyRequest, PlanRequest } from '../../core/disruption/plan/plan-requests.ts'
import type { DisruptionProposal } from '../planning/contract.ts'

/** What a history holds of a plan; the plan itself stands in a ConfigMap. */
export interface PlanSummary {
  readonly id: string
  readonly commands: number
  /** Nodes that would go, and that would come. */
  readonly nodes: number
  readonly newNodes: number
  /** USD an hour. */
  readonly savings: number
}

export type PlanCheck =
  /** To be committed in this order. `changes`: of commands that do not hold and are left out. */
  | { readonly kind: 'holds'; readonly proposals: readonly DisruptionProposal[]; readonly changes: readonly string[] }
  /** What is not as in the plan any more, a line each. */
  | { readonly kind: 'changed'; readonly changes: readonly string[] }
  /** There is no such plan, it has no commands, or a pause forbids it. */
  | { readonly kind: 'refused'; readonly message: string }

export interface PlanActivities {
  /** Keeps what disruption would do now as a plan. Nothing else is written. */
  planDisruption(request: PlanRequest): Promise<PlanSummary>
  /** Compares a plan with the cluster as it is, and proposes what of it still holds. */
  checkPlan(request: ApplyRequest): Promise<PlanCheck>
}
