import type { PlanRequest } from '../../core/disruption/plan-requests.ts'

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

export interface PlanActivities {
  /** Keeps what disruption would do now as a plan. Nothing else is written. */
  planDisruption(request: PlanRequest): Promise<PlanSummary>
}
