import type { VirtualMachine } from '@azure/arm-compute'
import type { ListedInstance } from '../../../core/garbage.ts'
import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import type { AzureConfig } from '../azure-config.ts'
import { claimIdentity } from '../launch/claim-vm.ts'
import { type ClusterIdentity, vmOwner } from '../launch/ownership.ts'
import { providerId } from '../launch/virtual-machine.ts'
import { vmNameOf, whyForeignTags } from '../machines/machine-ownership.ts'

/** Of an AKS machine the VM has AKS' name, and the machine's tags. */
function listedMachine(claim: NodeClaim, vm: ListedVm | undefined, config: MachineScope): ListedInstance {
  if (vm !== undefined) return whyForeignTags(vm.tags, claim, config) === undefined ? 'own' : 'unproven'
  return vmNameOf(claim, config) === undefined ? 'elsewhere' : 'missing'
}

type MachineScope = ClusterIdentity & Pick<AzureConfig, 'subscriptionId' | 'nodeResourceGroup'>

type ListedVm = Pick<VirtualMachine, 'id' | 'tags'>

/**
 * Returns the VM that Azure's list has for a NodeClaim, by the provider id in its status, never by an id composed from its name: its VM may be in
 * another resource group than the configured one. `listed` holds the VMs of that group, whoever owns them, by provider id in lower case.
 */
export function listedInstance(
  claim: NodeClaim,
  listed: ReadonlyMap<string, ListedVm>,
  config: MachineScope,
): ListedInstance {
  const id = claim.status.providerId?.toLowerCase()
  const vm = id === undefined ? undefined : listed.get(id)
  if (isAksMachine(claim)) return listedMachine(claim, vm, config)
  const hasItsName = id === providerId(config, claim.metadata.name).toLowerCase()
  if (vm === undefined) return hasItsName ? 'missing' : 'elsewhere'
  const { kind } = vmOwner(vm, claimIdentity(claim), config)
  if (kind === 'claim') return 'own'
  return kind === 'earlierClaim' && hasItsName ? 'namesake' : 'unproven'
}
