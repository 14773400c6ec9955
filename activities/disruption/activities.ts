import { withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import { LatestOnly } from '../latest-only.ts'
import { type CheckPlanDeps, checkPlan } from './check-plan.ts'
import { type CommitDeps, commitDisruptions } from './commit/commit.ts'
import type { DisruptionActivities } from './contract.ts'
import { type NextDisruptionDeps, nextDisruption } from './next-disruption.ts'
import { type PlanDisruptionDeps, planDisruption } from './plan-disruption.ts'

export interface DisruptionActivityDeps extends NextDisruptionDeps, CommitDeps, PlanDisruptionDeps, CheckPlanDeps {}

/** The disruption activities of the plan queue. */
export function createDisruptionActivities(deps: DisruptionActivityDeps): DisruptionActivities {
  const evaluating = new LatestOnly()
  return translatingFailures<DisruptionActivities>({
    nextDisruption: (input) => withHeartbeats((signal) => nextDisruption(deps, input, evaluating.begin(signal))),
    checkPlan: (request) => withHeartbeats(() => checkPlan(deps, request)),
    planDisruption: (request) => withHeartbeats(() => planDisruption(deps, request)),
    commitDisruptions: ({ proposals }) =>
      withHeartbeats((signal) => {
        evaluating.begin(signal)
        return commitDisruptions(deps, proposals)
      }),
  })
}
