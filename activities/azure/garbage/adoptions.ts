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

/** VMs that are kept, with what becomes of each, and which are to get a NodeClaim now. */
interface WithheldVms extends Pick<AdoptionPlan, 'doubt' | 'due'> {
  readonly machines: readonly WithheldMachine[]
}

/** A VM that is kept. `use` says of which Node. */
type KeptVm = Pick<FoundVm, 'name' | 'claimName'> & { readonly use: MachineUse; readonly foreign?: string }

/**
 * Decides what becomes of the VMs that are kept since pods run there, and of those whose tags are not this cluster's though their Nodes are. Since when
 * they are kept follows from the stored list, which a restart does not lose.
 */
export async function withheldVms(
  deps: WithheldMachinesDeps,
  found: FoundResources,
  { vmsInUse, asked }: Pick<GarbageSuspects, 'vmsInUse'> & { readonly asked: AskedAdoption | undefined },
): Promise<WithheldVms> {
  const kept: readonly KeptVm[] = [...vmsInUse, ...foreignVms(deps, found)]
  if (kept.length === 0) return { machines: [], due: [] }
  const now = deps.now()
  const before = new Map((await readStoredWithheld(deps)).machines.map((one) => [keyOf(one.name, one.uid), one.since]))
  const vms = kept.flatMap((vm) => {
    const lost = lostVm(deps, found, vm)
    // A time to come is that of a wrong clock.
    const since = lost && Math.min(before.get(keyOf(lost.name, lost.claimUid)) ?? now, now)
    return lost === undefined || since === undefined ? [] : [{ ...lost, sinceMs: since, use: vm.use }]
  })
  const { verdicts, doubt, due } = adoptionPlan(vms, (name) => deps.cache.nodePools.get(name), { now, asked })
  const machines = vms.map((vm, index): WithheldMachine => {
    const { kind: plan = 'left', ...verdict } = verdicts[index] ?? {}
    return {
      kind: 'VM',
      name: vm.name,
      ...vm.use,
      ...costOf(deps, vm.instanceType, vm.capacityType),
      ...defined({ uid: vm.claimUid, nodePool: vm.nodePool }),
      since: vm.sinceMs,
      ...(plan === 'left' || doubt !== undefined ? {} : { adoptedAt: vm.sinceMs + adoptAfterMs }),
      plan,
      ...verdict,
    }
  })
  return { machines, ...defined({ doubt }), due }
}

const keyOf = (name: string, uid = '') => `${name}/${uid}`

function lostVm(
  { cache, config }: WithheldMachinesDeps,
  { listed }: FoundResources,
  { name, claimName, use, foreign }: KeptVm,
): Omit<LostVm, 'sinceMs'> | undefined {
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
  try {
    return { ...common, zone: zoneLabelOf(vm), ...defined({ foreign }) }
  } catch (error) {
    return { ...common, zone: '', foreign: scrubbedMessage(error) }
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
