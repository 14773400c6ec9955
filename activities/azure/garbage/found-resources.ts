import type { Disk, VirtualMachine } from '@azure/arm-compute'
import type { NetworkInterface } from '@azure/arm-network'
import type { FoundPart, FoundVm } from '../../../core/garbage.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import { type DiskMark, readDiskMark } from '../launch/os-disk-name.ts'
import { type ClusterIdentity, ownershipOf } from '../launch/ownership.ts'
import { tagKeys, tagOf } from '../launch/tags.ts'
import { claimNameOf, providerIdOf } from '../launch/virtual-machine.ts'
import type { AzureParts } from '../parts.ts'

export type FoundResourcesDeps = Pick<AzureParts, 'log' | 'azure' | 'config' | 'cloudProvider'>

/** The resources in the node resource group that are this cluster's, and their NodePools. */
export interface FoundResources {
  /** All VMs of the resource group, whoever owns them, by provider id in lower case. */
  readonly listed: ReadonlyMap<string, VirtualMachine>
  readonly virtualMachines: readonly FoundVm[]
  /** NICs and disks that no VM uses. */
  readonly networkInterfaces: readonly FoundPart[]
  readonly disks: readonly FoundPart[]
  /** Unattached disks whose name has the form of a mark that is not this cluster's: left, and reported. */
  readonly unproven: readonly UnprovenDisk[]
  /** NodePool by the name of a VM or NIC; standalone claims have none. */
  readonly nodePools: ReadonlyMap<string, string>
}

export interface UnprovenDisk {
  readonly name: string
  readonly cause: Exclude<DiskMark['kind'], 'ours'>
}

/**
 * Lists VMs, NICs and disks of the node resource group, all pages, and keeps what is provably this cluster's: VMs and NICs by their tags, OS
 * disks by their name, which is made for that. VMs come first, so that the parts of a listed VM never count as leftovers.
 * Errors: the VMs cannot be listed. Failed lists of NICs and disks are logged, and repeated by the next pass.
 */
export async function findResources(deps: FoundResourcesDeps): Promise<FoundResources> {
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
  const isOwn = ({ name = '', tags }: VirtualMachine | NetworkInterface) =>
    hasOurName(name) && ownershipOf(tags, config).kind === 'ours'
  const marked = disks
    .filter(isUnattached)
    .map(({ name = '' }) => ({ name, mark: readDiskMark(config.clusterUid, name) }))
  return {
    listed: new Map(vms.map((vm) => [providerIdOf(vm.id ?? '').toLowerCase(), vm])),
    virtualMachines: vms.filter(isOwn).map(foundVm),
    networkInterfaces: nics.flatMap((nic) => leftoverNic(nic, config) ?? []),
    disks: marked.flatMap(({ name, mark }) => (mark?.kind === 'ours' ? [{ name, claimName: mark.claimName }] : [])),
    unproven: marked.flatMap(({ name, mark }) =>
      mark === undefined || mark.kind === 'ours' ? [] : [{ name, cause: mark.kind }],
    ),
    nodePools: new Map(
      [...vms, ...nics].filter(isOwn).map(({ name = '', tags }) => [name, tagOf(tags, tagKeys.nodePool) ?? '']),
    ),
  }
}

async function all<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const item of list) found.push(item)
  return found
}

function foundVm({
  name = '',
  tags,
  timeCreated,
  provisioningState,
  networkProfile,
  storageProfile,
}: VirtualMachine): FoundVm {
  const nics = (networkProfile?.networkInterfaces ?? []).map(({ id = '' }) => id.slice(id.lastIndexOf('/') + 1))
  const claimUid = tagOf(tags, tagKeys.claimUid)
  return {
    name,
    claimName: claimNameOf(name),
    ...(claimUid === undefined ? {} : { claimUid }),
    ...(timeCreated === undefined ? {} : { createdAtMs: timeCreated.getTime() }),
    isBeingDeleted: provisioningState === 'Deleting',
    isAbandoned: tagOf(tags, tagKeys.abandoned) !== undefined,
    parts: new Set([...nics, storageProfile?.osDisk?.name ?? ''].map((part) => part.toLowerCase())),
  }
}

/**
 * Returns the NIC as a leftover of ours, if it is one: without a VM, and with the tags that VMs have. Karpenter's NICs have the name of their
 * VM, without an attempt, and name no claim's UID (reference/azure-provider.md 8.2).
 */
export function leftoverNic(
  { name = '', tags, virtualMachine }: NetworkInterface,
  cluster: ClusterIdentity,
): FoundPart | undefined {
  const ownership = ownershipOf(tags, cluster)
  if (virtualMachine !== undefined || ownership.kind !== 'ours' || !hasOurName(name)) return undefined
  const { claimUid } = ownership
  return claimUid === undefined
    ? { name, claimName: claimNameOf(name) }
    : { name, claimName: claimNameOf(name.replace(/-\d+$/, '')), claimUid }
}

/** Returns whether a disk is unused. */
export function isUnattached({ managedBy, diskState }: Disk): boolean {
  return managedBy === undefined && diskState === 'Unattached'
}

/** Returns whether a name is ours, `aks-NODECLAIM...`. A resource with our tags and another name was tagged by somebody else. */
const hasOurName = (name: string) => name.startsWith('aks-')
