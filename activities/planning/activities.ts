import { withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import { checkPlan } from './check-plan.ts'
import type { PlanningActivities } from './contract.ts'
import type { PlanningDeps } from './dependencies.ts'
import { nextDisruption } from './disruption.ts'
import { commitDisruptions } from './disruption-commit.ts'
import { planDisruption } from './plan-disruption.ts'
import { nextProvisioning } from './provisioning.ts'

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
