import { withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import { LatestOnly } from '../latest-only.ts'
import type { ProvisioningActivities } from './contract.ts'
import { type NextProvisioningDeps, nextProvisioning } from './next-provisioning.ts'

/** The provisioning activities of the plan queue. */
export function createProvisioningActivities(deps: NextProvisioningDeps): ProvisioningActivities {
  const planning = new LatestOnly()
  return translatingFailures<ProvisioningActivities>({
    nextProvisioning: () => withHeartbeats((signal) => nextProvisioning(deps, planning.begin(signal))),
  })
}
