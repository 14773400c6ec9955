import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'

/** Errors: an AKS machine stands behind the claim, which is never made again. */
export function refuseAksMachine(claim: NodeClaim): void {
  if (!isAksMachine(claim)) return
  throw new LaunchBlocked(
    'InstanceNotOwned',
    `NodeClaim ${claim.metadata.name} stands for an AKS machine, which Joiner does not make again; delete the NodeClaim, and its pods get another node`,
  )
}
