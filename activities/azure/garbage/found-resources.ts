import type { Disk, VirtualMachine } from '@azure/arm-compute'
import type { NetworkInterface } from '@azure/arm-network'
import type { FoundPart, FoundVm } from '../../../core/garbage.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureDeps } from '../dependencies.ts'
import { readOsDiskName } from '../launch/os-disk-name.ts'
import { claimNameOf, tagKeys } from '../launch/virtual-machine.ts'

/** What of the node resource group is this cluster's, and by which NodePool it was made. */
export interface FoundResources {
  readonly virtualMachines: readonly FoundVm[]
  /** NICs and disks that no VM uses. */
  readonly networkInterfaces: readonly FoundPart[]
  readonly disks: readonly FoundPart[]
  /** NodePool by the name of a VM or NIC; standalone claims have none. */
  readonly nodePools: ReadonlyMap<string, string>
}

/**
 * Lists VMs, NICs and disks of the node resource group, all pages, and keeps what is provably this cluster's: VMs and NICs by their tags, OS
 * disks by their name, which is made for that. VMs come first, so that what belongs to a listed VM is never taken for a leftover.
 * Errors: the VMs cannot be listed. NICs and disks that cannot be are logged and looked for again by the next pass.
 */
export async function findResources(deps: AzureDeps): Promise<FoundResources> {
  const { azure, config } = deps
  const group = config.nodeResourceGroup
  const vms = await deps.cloudProvider.measure({ method: 'List' }, () =>
    all<VirtualMachine>(azure.compute.virtualMachines.list(group)),
  )
  const optional = <T>(what: string, permission: string, list: AsyncIterable<T>) =>
    all(list).catch((error: unknown): readonly T[] => {
      deps.log.warn(
        { reason: scrubbedMessage(error), resourceGroup: group },
        `${what} could not be listed, so leftovers are not found; Joiner's identity needs ${permission} on the node resource group`,
      )
      return []
    })
  const nics = await optional<NetworkInterface>(
    'NICs',
    'Microsoft.Network/networkInterfaces/read',
    azure.network.networkInterfaces.list(group),
  )
  const disks = await optional<Disk>(
    'disks',
    'Microsoft.Compute/disks/read',
    azure.compute.disks.listByResourceGroup(group),
  )
  const own = [...vms, ...nics].filter((resource) => isOwn(deps, resource.tags))
  return {
    virtualMachines: vms.filter(({ tags }) => isOwn(deps, tags)).map(foundVm),
    networkInterfaces: nics.flatMap((nic) => foundNic(deps, nic)),
    disks: disks.flatMap((disk) => foundDisk(deps, disk)),
    nodePools: new Map(own.map(({ name = '', tags }) => [name, tags?.[tagKeys.nodePool] ?? ''])),
  }
}

async function all<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const item of list) found.push(item)
  return found
}

function isOwn({ config }: AzureDeps, tags: Readonly<Record<string, string>> | undefined): boolean {
  const isOfNode = [tagKeys.nodePool, tagKeys.claimUid, tagKeys.abandoned].some((key) => tags?.[key] !== undefined)
  return tags?.[tagKeys.cluster] === config.clusterName && isOfNode
}

function foundVm(vm: VirtualMachine): FoundVm {
  const { name = '', tags, timeCreated, networkProfile, storageProfile } = vm
  const nics = (networkProfile?.networkInterfaces ?? []).map(({ id = '' }) => id.slice(id.lastIndexOf('/') + 1))
  const claimUid = tags?.[tagKeys.claimUid]
  return {
    name,
    claimName: claimNameOf(name),
    ...(claimUid === undefined ? {} : { claimUid }),
    ...(timeCreated === undefined ? {} : { createdAtMs: timeCreated.getTime() }),
    isBeingDeleted: vm.provisioningState === 'Deleting',
    isAbandoned: tags?.[tagKeys.abandoned] !== undefined,
    parts: new Set([...nics, storageProfile?.osDisk?.name ?? ''].map((part) => part.toLowerCase())),
  }
}

/** Karpenter's NICs have the name of their VM, without an attempt, and name no claim's UID (reference/azure-provider.md 8.2). */
function foundNic(deps: AzureDeps, { name = '', tags, virtualMachine }: NetworkInterface): readonly FoundPart[] {
  if (virtualMachine !== undefined || !isOwn(deps, tags)) return []
  const claimUid = tags?.[tagKeys.claimUid]
  if (claimUid === undefined) return name.startsWith('aks-') ? [{ name, claimName: claimNameOf(name) }] : []
  return [{ name, claimName: claimNameOf(name.replace(/-\d+$/, '')), claimUid }]
}

function foundDisk({ config }: AzureDeps, { name = '', managedBy, diskState }: Disk): readonly FoundPart[] {
  const claimName = readOsDiskName(config.clusterName, name)?.claimName
  const isUsed = managedBy !== undefined || diskState !== 'Unattached'
  return isUsed || claimName === undefined ? [] : [{ name, claimName }]
}
