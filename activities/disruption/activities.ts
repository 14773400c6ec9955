import { activityScope, withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import { adoptMachines } from '../provisioning/adoption/adopt-claims.ts'
import type { CreateClaimsDeps } from '../provisioning/create-claims.ts'
import type { Committer } from './commit/committer.ts'
import type { DisruptionActivities } from './contract.ts'
import { consolidateNow, type PassDeps } from './pass.ts'
import { type CheckPlanDeps, checkPlan } from './plans/check-plan.ts'
import { type PlanDisruptionDeps, planDisruption } from './plans/plan-disruption.ts'
import { isProposal } from './proposals.ts'

export interface DisruptionActivityDeps extends PassDeps, PlanDisruptionDeps, CheckPlanDeps, CreateClaimsDeps {
  readonly committer: Committer
}

/** The disruption activities of the plan queue. */
export function createDisruptionActivities(deps: DisruptionActivityDeps): DisruptionActivities {
  return translatingFailures<DisruptionActivities>({
    consolidateNow: (request) => withHeartbeats(() => consolidateNow(deps, request)),
    checkPlan: (request) => withHeartbeats(() => checkPlan(deps, request)),
    adoptMachines: ({ machines }) => withHeartbeats((signal) => adoptMachines(deps, machines, signal)),
    planDisruption: (request) => withHeartbeats(() => planDisruption(deps, request)),
    commitDisruption: (proposal) => {
      if (!isProposal(proposal)) return Promise.resolve({ kind: 'rejected', message: 'the proposal cannot be read' })
      const { isFirst } = activityScope()
      return withHeartbeats(async (signal) => {
        const outcome = await deps.committer.commit(proposal, isFirst, signal)
        deps.committer.validations.ended(proposal.id)
        return outcome
      })
    },
  })
}
