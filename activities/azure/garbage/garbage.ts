import type { Registry } from 'prom-client'
import type { WithheldMachine } from '../../../api/withheld-machines.ts'
import {
  doubtOf,
  type FoundPart,
  type FoundVm,
  type GarbageSuspects,
  garbageIn,
  type HeldNode,
  type KnownClaim,
} from '../../../core/garbage.ts'
import { namingNode, type PodCounts } from '../../../core/machines-in-use.ts'
import type { FoundMachine, OrphanedMachines } from '../../../core/orphaned-machines.ts'
import { inParallel } from '../../in-parallel.ts'
import { isNotFound } from '../../kubernetes/client/api-error.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import { type EventSubject, subject } from '../../kubernetes/event-recorder.ts'
import type { DisruptionCountDeps } from '../../kubernetes/lifecycle/claim-deletion.ts'
import { countDisruption } from '../../kubernetes/lifecycle/claim-deletion.ts'
import type { ArmBudget } from '../arm/arm-budget.ts'
import { inTurn } from '../arm/arm-turn.ts'
import { armErrorCode, scrubbedMessage } from '../arm/azure-error.ts'
import type { GarbageReport } from '../contract.ts'
import { capacityTypeOfVm, deleteVm, getVm } from '../launch/claim-vm.ts'
import { ownershipOf } from '../launch/ownership.ts'
import { providerId } from '../launch/virtual-machine.ts'
import { instanceOf } from '../machines/instance-of.ts'
import type { FoundResourcesDeps } from './found-resources.ts'
import { type FoundResources, findResources, isUnattached, leftoverNic } from './found-resources.ts'
import { type GarbageKind, garbageCounter, unprovenGauge } from './garbage-metrics.ts'
import { knownClaim } from './known-claim.ts'
import { deleted } from './last-look.ts'
import type { LeftAloneDeps } from './left-alone.ts'
import { ownNamespace, reportMachinesWithheld, reportUnproven, reportWithheld } from './left-alone.ts'
import { isFreeOfPods, nodesNaming } from './machines-in-use.ts'
import { deleteOrphanedMachine, findOrphanedMachines } from './orphaned-machines.ts'
import type { OrphanedNodesDeps } from './orphaned-nodes.ts'
import { deleteOwnNode, orphanedNodes, releaseNode } from './orphaned-nodes.ts'
import { SeenLeftovers } from './seen-leftovers.ts'
import { costOf, reportWithheldMachines, type WithheldMachinesDeps } from './withheld-machines.ts'

export interface GarbageDeps
  extends FoundResourcesDeps,
    LeftAloneDeps,
    WithheldMachinesDeps,
    OrphanedNodesDeps,
    DisruptionCountDeps {
  /** Tokens for requests of `azure`, which takes them by itself. */
  readonly budget: ArmBudget
}

/** Most requests of a pass at once. */
const width = 16

/** Longest wait of a deletion for its turn under ARM's limits, before it is left to the next pass. */
const patienceMs = 60_000

/** Azure's refusals to delete what is still in use; Azure releases it by itself (reference/azure-provider.md 8.2). */
const heldCodes: ReadonlySet<string> = new Set([
  'NicReservedForAnotherVm',
  'NicInUse',
  'OperationNotAllowed',
  'AnotherOperationInProgress',
  'RetryableError',
  'Conflict',
])

/**
 * Collects what no lifecycle owns: VMs, NICs and OS disks of this cluster without a NodeClaim, registered NodeClaims without a VM, and Nodes that
 * are being deleted and whose claim and VM are gone. Finding any is an alarm, reported by an event, a metric and a log line: lifecycles clean up
 * after themselves.
 */
export class GarbageCollector {
  readonly #deps: GarbageDeps
  readonly #collected: ReturnType<typeof garbageCounter>
  readonly #unproven: ReturnType<typeof unprovenGauge>
  readonly #leftovers = new SeenLeftovers()
  readonly #registry: Registry | undefined

  constructor(deps: GarbageDeps, registry?: Registry) {
    this.#deps = deps
    this.#registry = registry
    this.#collected = garbageCounter(registry)
    this.#unproven = unprovenGauge(registry)
  }

  /**
   * Runs one pass. Everything is listed before claims are read, since a claim always exists before its resources. Each suspect is checked
   * live before it goes. What cannot be deleted is left to the next pass. `counts`: which Nodes run pods, as the role core answered; without it
   * nothing whose Node is Ready is deleted.
   * Errors: VMs or claims cannot be read.
   */
  async collect(signal: AbortSignal, counts?: PodCounts): Promise<GarbageReport> {
    const deps = this.#deps
    const found = await findResources(deps)
    await deps.cache.connected(signal)
    const snapshot = this.#snapshot(found)
    const suspects = garbageIn({ ...snapshot, counts }, deps.now())
    await reportWithheld(deps, suspects.withheld)
    this.#reportUnproven(found)
    const leftovers = this.#leftovers.seenTwice(suspects, deps.now())
    const report: GarbageReport = {
      virtualMachines: await this.#each(
        suspects.virtualMachines,
        (vm) => this.#vm(vm, { found, counts }, signal),
        signal,
      ),
      networkInterfaces: await this.#each(leftovers.networkInterfaces, (nic) => this.#nic(nic, found), signal),
      disks: await this.#each(leftovers.disks, (disk) => this.#disk(disk), signal),
      nodeClaims: await this.#each(suspects.nodeClaims, (claim) => this.#nodeClaim(claim), signal),
      nodes: await this.#each(suspects.heldNodes, (node) => this.#node(node, counts), signal),
    }
    const isInDoubt = doubtOf(snapshot.claims) !== undefined
    const machines = await this.#orphanedMachines(isInDoubt, counts)
    const all: GarbageReport =
      machines === undefined
        ? report
        : {
            ...report,
            aksMachines: await this.#each(machines.machines, (one) => this.#machine(one, counts, signal), signal),
          }
    if (Object.values(all).some((names: readonly string[]) => names.length > 0))
      deps.log.warn(all, 'found leaked resources')
    if (isInDoubt) return all
    const undecided = await this.#inUse(suspects, { found, machines, counts })
    return undecided.length === 0 ? all : { ...all, undecided }
  }

  #snapshot(found: FoundResources) {
    const deps = this.#deps
    const withNodes = (vm: FoundVm): FoundVm => {
      const named = { name: vm.name, providerId: providerId(deps.config, vm.claimName) }
      return { ...vm, nodes: nodesNaming(deps, named).map(namingNode) }
    }
    return {
      ...found,
      virtualMachines: found.virtualMachines.map(withNodes),
      claims: [...deps.cache.nodeClaims.values()].map((claim) => knownClaim(deps, claim, found)),
      // While Azure has the VM, that decides.
      heldNodes: orphanedNodes(deps).filter(({ claimName }) => this.#listed(found, claimName) === undefined),
    }
  }

  #listed({ listed }: FoundResources, claimName: string) {
    return listed.get(providerId(this.#deps.config, claimName).toLowerCase())
  }

  #reportUnproven({ unproven }: FoundResources): void {
    reportUnproven(this.#deps, unproven)
    this.#unproven.reset()
    for (const { cause } of unproven) this.#unproven.inc({ resource: 'disk', cause })
  }

  /** Reports what pods keep. Before the role core was asked, returns the Ready Nodes to ask about instead. */
  async #inUse(
    { vmsInUse, nodesInUse }: GarbageSuspects,
    {
      found,
      machines,
      counts,
    }: {
      readonly found: FoundResources
      readonly machines: OrphanedMachines | undefined
      readonly counts: PodCounts | undefined
    },
  ): Promise<readonly string[]> {
    const machinesInUse = machines?.inUse ?? []
    const nodes = [...vmsInUse, ...nodesInUse, ...machinesInUse].flatMap(({ nodes: naming = [] }) => naming)
    if (counts === undefined && nodes.length > 0)
      return [...new Set(nodes.filter(({ isReady }) => isReady).map(({ name }) => name))].sort()
    const withheld: readonly WithheldMachine[] = [
      ...vmsInUse.map(({ name, claimName, use }) => {
        const vm = this.#listed(found, claimName)
        const cost = vm && costOf(this.#deps, vm.hardwareProfile?.vmSize ?? '', capacityTypeOfVm(vm))
        return { kind: 'VM' as const, name, ...use, ...cost }
      }),
      ...machinesInUse.map(({ name, use, instanceType, capacityType }) => ({
        kind: 'AKS machine' as const,
        name,
        ...use,
        ...costOf(this.#deps, instanceType, capacityType),
      })),
      ...nodesInUse.map(({ name, use }) => ({ kind: 'Node' as const, name, ...use })),
    ]
    await reportWithheldMachines(this.#deps, withheld, this.#registry)
    return []
  }

  /** Machines are AKS' to list, so their failure must not keep the rest. Undefined where they are not managed, or not known. */
  async #orphanedMachines(isInDoubt: boolean, counts: PodCounts | undefined): Promise<OrphanedMachines | undefined> {
    const none: OrphanedMachines = { machines: [], inUse: [] }
    if (this.#deps.config.managesMachines !== true) return undefined
    if (isInDoubt) return none
    const found = await findOrphanedMachines(this.#deps, counts).catch((error: unknown) => {
      this.#deps.log.warn({ reason: scrubbedMessage(error) }, 'failed to list AKS machines, retrying in the next pass')
      return none
    })
    if (found.withheld !== undefined) reportMachinesWithheld(this.#deps, found.withheld)
    return found
  }

  async #machine(machine: FoundMachine, counts: PodCounts | undefined, signal: AbortSignal): Promise<boolean> {
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

  /** Returns the names of the items that were deleted. A failure does not keep the others. */
  async #each<T extends { readonly name: string }>(
    items: readonly T[],
    remove: (item: T) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const gone: string[] = []
    const one = async (item: T) => {
      signal.throwIfAborted()
      try {
        if (await remove(item)) gone.push(item.name)
      } catch (error) {
        const held = heldCodes.has(armErrorCode(error) ?? '')
        const fields = { name: item.name, reason: scrubbedMessage(error) }
        if (held) this.#deps.log.info(fields, 'leaked resource is still in use, retrying in the next pass')
        else this.#deps.log.warn(fields, 'failed to delete leaked resource, retrying in the next pass')
      }
    }
    await inParallel(items, width, one)
    return gone.sort()
  }

  /**
   * Deletes a VM. Claim, owner and Node are read when the request may be sent at once: by then a claim of the name owns the VM, or makes room
   * for its own. Tags that changed since the list no longer prove anything.
   */
  async #vm(
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

  async #nic({ name }: FoundPart, found: FoundResources): Promise<boolean> {
    const { azure, config } = this.#deps
    const nics = azure.network.networkInterfaces
    const isOurs = async () => leftoverNic(await nics.get(config.nodeResourceGroup, name), config) !== undefined
    const existed = await deleted(name, isOurs, () => nics.delete(config.nodeResourceGroup, name).submitted())
    const message = `NIC ${name} had no VM and is deleted`
    if (existed) this.#alarm(this.#about(found, name), { kind: 'networkInterface', name, message })
    return existed
  }

  async #disk({ name }: FoundPart): Promise<boolean> {
    const { azure, config } = this.#deps
    const { disks } = azure.compute
    const isUnused = async () => isUnattached(await disks.get(config.nodeResourceGroup, name))
    const existed = await deleted(name, isUnused, () => disks.delete(config.nodeResourceGroup, name).submitted())
    const message = `OS disk ${name} had no VM and is deleted`
    if (existed) this.#alarm(ownNamespace(this.#deps), { kind: 'disk', name, message })
    return existed
  }

  async #nodeClaim({ name, uid }: KnownClaim): Promise<boolean> {
    const claim = this.#deps.cache.nodeClaims.get(name)
    if (claim?.metadata.uid !== uid) return false
    const instance = instanceOf(this.#deps, claim)
    if (await instance.vmExists()) return false
    await this.#deps.client.delete(resourcePath('nodeclaims', name), { uid }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
    countDisruption(this.#deps, claim, 'garbage_collected')
    const message = `${instance.kind === 'VM' ? instance.called : `the VM of ${instance.called}`} is gone; the NodeClaim is deleted`
    this.#alarm(subject(claim), { kind: 'nodeClaim', name, message })
    return true
  }

  async #node(node: HeldNode, counts: PodCounts | undefined): Promise<boolean> {
    if (await this.#claimExists(node.claimName)) return false
    const known = this.#deps.cache.nodes.get(node.name)
    if (!(await releaseNode(this.#deps, node, counts))) return false
    const about = known === undefined ? ownNamespace(this.#deps) : subject(known)
    const message = `Node ${node.name} had neither NodeClaim nor VM and is let go`
    this.#alarm(about, { kind: 'node', name: node.name, message })
    return true
  }

  async #claimExists(name: string): Promise<boolean> {
    try {
      await this.#deps.client.get(resourcePath('nodeclaims', name))
      return true
    } catch (error) {
      if (isNotFound(error)) return false
      throw error
    }
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
