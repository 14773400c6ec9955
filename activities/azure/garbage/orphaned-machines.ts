import { isTrue } from '../../../core/conditions.ts'
import { type NamedVm, namingNode, type PodCounts } from '../../../core/machines-in-use.ts'
import { machineNameOf, parseAksMachineId } from '../../../core/node-claim/aks-machine.ts'
import { owningClaim } from '../../../core/node-claim/node-owner.ts'
import type { Node } from '../../../core/objects.ts'
import { type FoundMachine, type OrphanedMachines, orphanedMachines } from '../../../core/orphaned-machines.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { defined } from '../../../core/values/defined.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import { tagKeys, tagOf } from '../launch/tags.ts'
import { providerIdOf } from '../launch/virtual-machine.ts'
import { offeringOf } from '../machines/failed-machine.ts'
import { claimNameIn } from '../machines/machine-ownership.ts'
import {
  type AksMachine,
  deleteMachine,
  getMachine,
  listMachinePools,
  listMachines,
  type MachinesApiDeps,
  napMode,
} from '../machines/machines-api.ts'
import { napRefusal } from '../machines/nap-refusal.ts'
import type { FirstSeen } from './first-seen.ts'
import { isFreeOfPods, nodesNaming } from './machines-in-use.ts'

type OrphanedMachinesDeps = MachinesApiDeps & Pick<Parts, 'cache' | 'client' | 'now'>

/**
 * Returns AKS machines with this cluster's tags that no NodeClaim stands for; none while node auto-provisioning is on. Claims are read past the cache,
 * which does not show those that were not adopted. Errors: ARM's, and those of the API server.
 */
export async function findOrphanedMachines(
  deps: OrphanedMachinesDeps,
  { counts, seen }: { readonly counts: PodCounts | undefined; readonly seen: FirstSeen },
): Promise<OrphanedMachines> {
  if (napRefusal(await napMode(deps), deps.config) !== undefined) return { machines: [], inUse: [] }
  const pools = await listMachinePools(deps)
  const lists = await Promise.all(
    pools.map(async (pool) => (await listMachines(deps, { pool })).map((machine) => ({ pool, machine }))),
  )
  const listed = lists.flat()
  const now = deps.now()
  const since = seen.look(
    listed.map(({ machine }) => machine.id),
    now,
  )
  const machines = listed.flatMap((one) => foundMachine(deps, one, since.get(one.machine.id) ?? now) ?? [])
  if (machines.length === 0) return { machines, inUse: [] }
  const { items } = await deps.client.list(resourcePath('nodeclaims'))
  const metas = items.map(({ metadata }) => metadata as { name: string; annotations?: Record<string, string> })
  const claims = {
    names: new Set(metas.map(({ name }) => name)),
    machines: new Set(metas.flatMap(({ annotations: own }) => own?.[annotations.aksMachine]?.toLowerCase() ?? [])),
  }
  return orphanedMachines(machines, claims, { counts, now: deps.now() })
}

/** `seenMs`: when it was first seen, for one of which AKS does not say when it was made. */
function foundMachine(
  deps: OrphanedMachinesDeps,
  { pool, machine }: { readonly pool: string; readonly machine: AksMachine },
  seenMs: number,
): FoundMachine | undefined {
  const { config, cache } = deps
  const { id, name, properties } = machine
  const claimName = claimNameIn(properties?.tags, config)
  if (claimName === undefined) return undefined
  const vm = vmOf(properties?.resourceId)
  const createdAtMs = Date.parse(properties?.status?.creationTimestamp ?? '')
  return {
    name: `${pool}/${name}`,
    id,
    claimName,
    createdAtMs: Number.isNaN(createdAtMs) ? seenMs : createdAtMs,
    isBeingDeleted: properties?.provisioningState === 'Deleting',
    instanceType: properties?.hardware?.vmSize ?? '',
    capacityType: properties?.priority === 'Spot' ? 'spot' : 'on-demand',
    ...(vm === undefined ? {} : { nodes: nodesNaming({ cache }, vm).map(namingNode) }),
    ...defined({ lost: config.makesMachines?.pool === pool ? lostMachine(deps, { claimName, machine }) : undefined }),
  }
}

/**
 * Returns what a NodeClaim of the name is made again from; undefined where a launch would not find the machine, or it has no VM, or no Node names that. The
 * UID of the lost NodeClaim is that of the Node's owner: the tag of a machine stays that of its first NodeClaim.
 */
function lostMachine(
  { config, cache }: OrphanedMachinesDeps,
  { claimName, machine }: { readonly claimName: string; readonly machine: AksMachine },
): FoundMachine['lost'] {
  const { id, name, properties } = machine
  const vm = vmOf(properties?.resourceId)
  if (vm === undefined || machineNameOf(claimName) !== name) return undefined
  const isReady = ({ conditions }: Node) => isTrue(conditions, 'Ready')
  const node = cache.nodes.get(vm.name.toLowerCase()) ?? nodesNaming({ cache }, vm).find(isReady)
  if (node === undefined) return undefined
  const [taggedUid, nodePool] = [tagKeys.claimUid, tagKeys.nodePool].map((key) => tagOf(properties?.tags, key))
  const claimUid = owningClaim(node)?.uid ?? taggedUid
  const common = {
    ...vm,
    id,
    machine: id,
    claimName,
    ...defined({ claimUid, nodePool }),
    isFailed: properties?.provisioningState === 'Failed',
    node,
  }
  try {
    const { typeName: instanceType, zone, capacityType } = offeringOf(machine, config)
    return { ...common, instanceType, zone, capacityType }
  } catch (error) {
    return { ...common, instanceType: '', zone: '', capacityType: '', foreign: scrubbedMessage(error) }
  }
}

/** Returns a machine's VM as Nodes name it, by its resource id. */
function vmOf(id = ''): NamedVm | undefined {
  return id === '' ? undefined : { name: id.slice(id.lastIndexOf('/') + 1), providerId: providerIdOf(id) }
}

/**
 * Deletes such a machine if its tags, the mode of node auto-provisioning and its Node, read again, still say the same. Returns whether it did.
 * Errors: ARM's, and those of the API server.
 */
export async function deleteOrphanedMachine(
  deps: OrphanedMachinesDeps,
  { id, claimName }: FoundMachine,
  counts: PodCounts | undefined,
): Promise<boolean> {
  const place = parseAksMachineId(id)
  const machine = place && (await getMachine(deps, place))
  if (place === undefined || machine === undefined) return false
  if (claimNameIn(machine.properties?.tags, deps.config) !== claimName) return false
  if (napRefusal(await napMode(deps), deps.config) !== undefined) return false
  const vm = vmOf(machine.properties?.resourceId)
  if (vm !== undefined && !(await isFreeOfPods(deps, vm, counts))) return false
  await deleteMachine(deps, place)
  return true
}
