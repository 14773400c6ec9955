import type { VirtualMachine } from '@azure/arm-compute'
import type { WithheldMachine } from '../../../api/withheld-machines.ts'
import {
  type AdoptionPlan,
  type AskedAdoption,
  adoptAfterMs,
  adoptionPlan,
  type LostVm,
} from '../../../core/adoption.ts'
import type { FoundVm, GarbageSuspects } from '../../../core/garbage.ts'
import { isHeldAndReady, type MachineUse } from '../../../core/machines-in-use.ts'
import { isNodeOfSomeClaim, isOwnNodeOfVm } from '../../../core/node-claim/node-owner.ts'
import type { Node } from '../../../core/objects.ts'
import type { OrphanedMachines } from '../../../core/orphaned-machines.ts'
import { defined } from '../../../core/values/defined.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import { zoneLabelOf } from '../catalogue/zones.ts'
import { capacityTypeOfVm } from '../launch/claim-vm.ts'
import { ownershipOf } from '../launch/ownership.ts'
import { tagKeys, tagOf } from '../launch/tags.ts'
import { claimNameOf, providerId, providerIdOf } from '../launch/virtual-machine.ts'
import type { FoundResources } from './found-resources.ts'
import { nodesNaming } from './machines-in-use.ts'
import { costOf, readStoredWithheld, type WithheldMachinesDeps } from './withheld-machines.ts'

/** VMs and AKS machines that are kept, with what becomes of each, and which are to get a NodeClaim now. */
interface WithheldVms extends Pick<AdoptionPlan, 'doubt' | 'due'> {
  readonly machines: readonly WithheldMachine[]
}

/** A VM that is kept. `use` says of which Node. */
type KeptVm = Pick<FoundVm, 'name' | 'claimName'> & { readonly use: MachineUse; readonly foreign?: string }

type MachineInUse = OrphanedMachines['inUse'][number]

/** What is kept, and what its NodeClaim is made again from. `name`: as it is reported. */
interface Kept extends Pick<WithheldMachine, 'kind' | 'name'> {
  readonly use: MachineUse
  readonly vm: Omit<LostVm, 'sinceMs'>
}

/**
 * Decides what becomes of the VMs and AKS machines that are kept since pods run there, and of VMs whose tags are not this cluster's though their Nodes
 * are. Since when they are kept follows from the stored list, which a restart does not lose.
 */
export async function withheldVms(
  deps: WithheldMachinesDeps,
  found: FoundResources,
  {
    vmsInUse,
    machinesInUse,
    asked,
  }: Pick<GarbageSuspects, 'vmsInUse'> & {
    readonly machinesInUse: OrphanedMachines['inUse']
    readonly asked: AskedAdoption | undefined
  },
): Promise<WithheldVms> {
  const lost: readonly Kept[] = [
    ...[...vmsInUse, ...foreignVms(deps, found)].flatMap((one) => lostVm(deps, found, one) ?? []),
    ...machinesInUse.flatMap(({ name, use, lost: vm }) =>
      vm ? [{ kind: 'AKS machine' as const, name, use, vm }] : [],
    ),
  ]
  const names = new Set(lost.map(({ name }) => name))
  const stay = machinesInUse.filter(({ name }) => !names.has(name)).map((one) => stays(deps, one))
  if (lost.length === 0) return { machines: stay, due: [] }
  const now = deps.now()
  const before = new Map((await readStoredWithheld(deps)).machines.map((one) => [keyOf(one.name, one.uid), one.since]))
  // A time to come is that of a wrong clock.
  const sinceOf = ({ name, vm }: Kept) => Math.min(before.get(keyOf(name, vm.claimUid)) ?? now, now)
  const vms = lost.map((one) => ({ ...one.vm, listedAs: one.name, sinceMs: sinceOf(one) }))
  const { verdicts, doubt, due } = adoptionPlan(vms, (name) => deps.cache.nodePools.get(name), { now, asked })
  const machines = lost.map(({ kind, name, use, vm }, index): WithheldMachine => {
    const { kind: plan = 'left', ...verdict } = verdicts[index] ?? {}
    const since = vms[index]?.sinceMs ?? now
    return {
      kind,
      name,
      ...use,
      ...costOf(deps, vm.instanceType, vm.capacityType),
      ...defined({ uid: vm.claimUid, nodePool: vm.nodePool }),
      since,
      ...(plan === 'left' || doubt !== undefined ? {} : { adoptedAt: since + adoptAfterMs }),
      plan,
      ...verdict,
    }
  })
  return { machines: [...machines, ...stay], ...defined({ doubt }), due }
}

/** An AKS machine that gets no NodeClaim. */
const stays = (
  deps: WithheldMachinesDeps,
  { name, use, instanceType, capacityType }: MachineInUse,
): WithheldMachine => ({ kind: 'AKS machine', name, ...use, ...costOf(deps, instanceType, capacityType) })

const keyOf = (name: string, uid = '') => `${name}/${uid}`

function lostVm(
  { cache, config }: WithheldMachinesDeps,
  { listed }: FoundResources,
  { name, claimName, use, foreign }: KeptVm,
): Kept | undefined {
  const vm = listed.get(providerId(config, claimName).toLowerCase())
  const node = cache.nodes.get(name.toLowerCase()) ?? cache.nodes.get(use.node)
  if (vm === undefined || node === undefined) return undefined
  const [claimUid, nodePool] = [tagKeys.claimUid, tagKeys.nodePool].map((key) => tagOf(vm.tags, key))
  const id = vm.id ?? ''
  const common = {
    name,
    id,
    providerId: providerIdOf(id),
    claimName,
    ...defined({ claimUid, nodePool }),
    instanceType: vm.hardwareProfile?.vmSize ?? '',
    capacityType: capacityTypeOfVm(vm),
    isFailed: vm.provisioningState === 'Failed',
    node,
  }
  const kept = (own: Pick<LostVm, 'zone' | 'foreign'>): Kept => ({ kind: 'VM', name, use, vm: { ...common, ...own } })
  try {
    return kept({ zone: zoneLabelOf(vm), ...defined({ foreign }) })
  } catch (error) {
    return kept({ zone: '', foreign: scrubbedMessage(error) })
  }
}

/** Returns VMs whose Nodes wait for a NodeClaim and whose tags name another cluster, or none: nothing of theirs is deleted, and somebody has to know. */
function foreignVms({ cache, config }: WithheldMachinesDeps, { listed }: FoundResources): readonly KeptVm[] {
  return [...listed.values()].flatMap((vm) => {
    const { name = '', tags } = vm
    const ownership = ownershipOf(tags, config)
    // Machines of AKS are AKS' to manage.
    if (ownership.kind === 'ours' || tagOf(tags, tagKeys.aksMachine) !== undefined) return []
    const node = ownNodeOf({ cache }, vm)
    if (node === undefined || !isHeldAndReady(node) || !isNodeOfSomeClaim(node)) return []
    const isClaimed =
      cache.nodeClaims.get(claimNameOf(name)) !== undefined ||
      cache.nodeClaims.by('byProviderId', node.providerId?.toLowerCase() ?? '').length > 0
    const use = { node: node.metadata.name }
    return isClaimed ? [] : [{ name, claimName: claimNameOf(name), use, foreign: ownership.why }]
  })
}

function ownNodeOf(
  deps: Pick<WithheldMachinesDeps, 'cache'>,
  { name = '', id = '' }: VirtualMachine,
): Node | undefined {
  const vm = { name, providerId: providerIdOf(id) }
  return nodesNaming(deps, vm).find((node) => isOwnNodeOfVm(node, vm))
}
