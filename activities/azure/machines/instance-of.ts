import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import { type ClaimInstance, vmInstance } from '../launch/claim-instance.ts'
import type { ClaimVmDeps } from '../launch/claim-vm.ts'
import { type InstanceMaker, vmMaker } from '../launch/put-vm.ts'
import { type MachineLaunchDeps, machineMaker } from './launch-machine.ts'
import { machineInstance } from './machine-instance.ts'

/** Returns what a NodeClaim runs on. Of a claim that is gone only name and UID are known, which lead to a VM of Joiner's own. */
export function instanceOf(deps: ClaimVmDeps, claim: NodeClaim | ClaimRef): ClaimInstance {
  return 'metadata' in claim && isAksMachine(claim) ? machineInstance(deps, claim) : vmInstance(deps, claim)
}

/** Returns how new nodes are made, which the settings decide once for all launches of a process. */
export function makerOf(deps: MachineLaunchDeps): InstanceMaker {
  return deps.config.makesMachines === undefined ? vmMaker(deps) : machineMaker(deps)
}
