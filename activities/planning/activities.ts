import { withHeartbeats } from '../activity-context.ts'
import { checkPlan } from '../disruption/check-plan.ts'
import { commitDisruptions } from '../disruption/commit.ts'
import { nextDisruption } from '../disruption/next-disruption.ts'
import { planDisruption } from '../disruption/plan-disruption.ts'
import { translatingFailures } from '../failure.ts'
import { nextProvisioning } from '../provisioning/next-provisioning.ts'
import type { PlanningActivities } from './contract.ts'
import type { PlanningDeps } from './dependencies.ts'

/** The activities of the plan queue. */
export function createPlanningActivities(deps: PlanningDeps): PlanningActivities {
  return translatingFailures<PlanningActivities>({
    nextProvisioning: () => withHeartbeats((signal) => nextProvisioning(deps, signal)),
    nextDisruption: (input) => withHeartbeats((signal) => nextDisruption(deps, input, signal)),
    checkPlan: (request) => withHeartbeats(() => checkPlan(deps, request)),
    planDisruption: (request) => withHeartbeats(() => planDisruption(deps, request)),
    commitDisruptions: ({ proposals }) => withHeartbeats(() => commitDisruptions(deps, proposals)),
  })
}
