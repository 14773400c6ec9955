import type { FoundPart, FoundVm, HeldNode, KnownClaim } from '../../../core/garbage.ts'
import type { PodCounts } from '../../../core/machines-in-use.ts'
import type { FoundMachine } from '../../../core/orphaned-machines.ts'
import { getIfAny } from '../../kubernetes/client/answers.ts'
import { expecting, isNotFound } from '../../kubernetes/client/api-error.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import { type EventSubject, subject } from '../../kubernetes/event-recorder.ts'
import { countDisruption, type DisruptionCountDeps } from '../../kubernetes/lifecycle/claim-deletion.ts'
import { inTurn } from '../arm/arm-turn.ts'
import { isResourceGone } from '../arm/azure-error.ts'
import { deleteVm, getVm } from '../launch/claim-vm.ts'
import { ownershipOf } from '../launch/ownership.ts'
import { providerId } from '../launch/virtual-machine.ts'
import { instanceOf } from '../machines/instance-of.ts'
import type { AzureParts } from '../parts.ts'
import { type FoundResources, type FoundResourcesDeps, isUnattached, leftoverNic } from './found-resources.ts'
import { type GarbageKind, garbageCounter } from './garbage-metrics.ts'
import { type LeftAloneDeps, ownNamespace } from './left-alone.ts'
import { isFreeOfPods } from './machines-in-use.ts'
import { deleteOrphanedMachine } from './orphaned-machines.ts'
import { deleteOwnNode, type OrphanedNodesDeps, releaseNode } from './orphaned-nodes.ts'
import type { WithheldMachinesDeps } from './withheld-machines.ts'

export type GarbageDeps = FoundResourcesDeps &
  LeftAloneDeps &
  WithheldMachinesDeps &
  OrphanedNodesDeps &
  DisruptionCountDeps &
  Pick<AzureParts, 'budget'>

/** Longest wait of a deletion for its turn under ARM's limits, before it is left to the next pass. */
const patienceMs = 60_000

/** Deletes what garbage collection suspects, after a last look at each, and reports each deletion. */
export class GarbageDeletions {
  readonly #deps: GarbageDeps
  readonly #collected: ReturnType<typeof garbageCounter>

  constructor(deps: GarbageDeps) {
    this.#deps = deps
    this.#collected = garbageCounter(deps.registry)
  }

  async machine(machine: FoundMachine, counts: PodCounts | undefined, signal: AbortSignal): Promise<boolean> {
    const turn = { buckets: ['armWrites'], patienceMs, signal } as const
    const isDeleted = await inTurn(this.#deps.budget, turn, async () => {
      if (await this.#claimExists(machine.claimName)) return false
      return deleteOrphanedMachine(this.#deps, machine, counts)
    })
    if (!isDeleted) return false
    const message = `AKS machine ${machine.name} had no NodeClaim and is deleted`
    this.#alarm(ownNamespace(this.#deps), { kind: 'aksMachine', name: machine.name, message })
    return true
  }

  /**
   * Deletes a VM. Claim, owner and Node are read when the request may be sent at once: by then a claim of the name owns the VM, or makes room
   * for its own. Tags that changed since the list no longer prove anything.
   */
  async vm(
    { name, claimName, claimUid, isAbandoned }: FoundVm,
    { found, counts }: { readonly found: FoundResources; readonly counts: PodCounts | undefined },
    signal: AbortSignal,
  ): Promise<boolean> {
    const deps = this.#deps
    const turn = { buckets: ['armDeletes', 'deleteVm'], patienceMs, signal } as const
    const isDeleted = await inTurn(deps.budget, turn, async () => {
      if (await this.#claimExists(claimName)) return false
      const vm = await getVm(deps, claimName)
      const ownership = ownershipOf(vm?.tags, deps.config)
      if (ownership.kind !== 'ours' || ownership.claimUid !== claimUid) return false
      if (!isAbandoned && !(await isFreeOfPods(deps, { name, providerId: providerId(deps.config, claimName) }, counts)))
        return false
      await deleteVm(deps, claimName)
      await deleteOwnNode(deps, claimName)
      return true
    })
    if (!isDeleted) return false
    const message = `VM ${name} had no NodeClaim and is deleted`
    this.#alarm(this.#about(found, name), { kind: 'virtualMachine', name, message })
    return true
  }

  async nic({ name }: FoundPart, found: FoundResources): Promise<boolean> {
    const { azure, config } = this.#deps
    const nics = azure.network.networkInterfaces
    const isOurs = async () => leftoverNic(await nics.get(config.nodeResourceGroup, name), config) !== undefined
    const existed = await deleted(name, isOurs, () => nics.delete(config.nodeResourceGroup, name).submitted())
    const message = `NIC ${name} had no VM and is deleted`
    if (existed) this.#alarm(this.#about(found, name), { kind: 'networkInterface', name, message })
    return existed
  }

  async disk({ name }: FoundPart): Promise<boolean> {
    const { azure, config } = this.#deps
    const { disks } = azure.compute
    const isUnused = async () => isUnattached(await disks.get(config.nodeResourceGroup, name))
    const existed = await deleted(name, isUnused, () => disks.delete(config.nodeResourceGroup, name).submitted())
    const message = `OS disk ${name} had no VM and is deleted`
    if (existed) this.#alarm(ownNamespace(this.#deps), { kind: 'disk', name, message })
    return existed
  }

  async nodeClaim({ name, uid }: KnownClaim): Promise<boolean> {
    const claim = this.#deps.cache.nodeClaims.get(name)
    if (claim?.metadata.uid !== uid) return false
    const instance = instanceOf(this.#deps, claim)
    if (await instance.vmExists()) return false
    const path = resourcePath('nodeclaims', name)
    await this.#deps.client.delete(path, { uid }).catch(expecting(isNotFound, undefined))
    countDisruption(this.#deps, claim, 'garbage_collected')
    const message = `${instance.kind === 'VM' ? instance.called : `the VM of ${instance.called}`} is gone; the NodeClaim is deleted`
    this.#alarm(subject(claim), { kind: 'nodeClaim', name, message })
    return true
  }

  async node(node: HeldNode, counts: PodCounts | undefined): Promise<boolean> {
    if (await this.#claimExists(node.claimName)) return false
    const known = this.#deps.cache.nodes.get(node.name)
    if (!(await releaseNode(this.#deps, node, counts))) return false
    const about = known === undefined ? ownNamespace(this.#deps) : subject(known)
    const message = `Node ${node.name} had neither NodeClaim nor VM and is let go`
    this.#alarm(about, { kind: 'node', name: node.name, message })
    return true
  }

  async #claimExists(name: string): Promise<boolean> {
    return (await getIfAny(this.#deps.client, resourcePath('nodeclaims', name))) !== undefined
  }

  #alarm(
    about: EventSubject,
    { kind, name, message }: { readonly kind: GarbageKind; readonly name: string; readonly message: string },
  ): void {
    this.#collected.inc({ resource: kind })
    this.#deps.events.record({ about, reason: 'GarbageCollected', message, values: [kind, name] })
  }

  /** Returns the subject of events: the NodePool of a VM or NIC; without one, Joiner's namespace. */
  #about({ nodePools }: FoundResources, name: string): EventSubject {
    const pool = this.#deps.cache.nodePools.get(nodePools.get(name) ?? '')
    return pool === undefined ? ownNamespace(this.#deps) : subject(pool)
  }
}

/** Deletes what a last check still allows. Returns false when it was gone already, or is not to be deleted. */
async function deleted(name: string, mayGo: () => Promise<boolean>, remove: () => PromiseLike<void>): Promise<boolean> {
  try {
    if (!(await mayGo())) return false
    await remove()
    return true
  } catch (error) {
    if (isResourceGone(error, name)) return false
    throw error
  }
}
