import type { Registry } from 'prom-client'
import {
  type FoundPart,
  type FoundVm,
  type GarbageSuspects,
  garbageIn,
  type KnownClaim,
} from '../../../core/garbage.ts'
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
import { deleteVm, getVm } from '../launch/claim-vm.ts'
import { ownershipOf } from '../launch/ownership.ts'
import { instanceOf } from '../machines/instance-of.ts'
import type { FoundResourcesDeps } from './found-resources.ts'
import { type FoundResources, findResources, isUnattached, leftoverNic } from './found-resources.ts'
import { type GarbageKind, garbageCounter, unprovenGauge } from './garbage-metrics.ts'
import { knownClaim } from './known-claim.ts'
import { deleted } from './last-look.ts'
import type { LeftAloneDeps } from './left-alone.ts'
import { ownNamespace, reportMachinesWithheld, reportUnproven, reportWithheld } from './left-alone.ts'
import { deleteOrphanedMachine, findOrphanedMachines } from './orphaned-machines.ts'
import type { OrphanedNodesDeps } from './orphaned-nodes.ts'
import { type OrphanedNode, orphanedNodes, releaseNode } from './orphaned-nodes.ts'
import { SeenLeftovers } from './seen-leftovers.ts'

export interface GarbageDeps extends FoundResourcesDeps, LeftAloneDeps, OrphanedNodesDeps, DisruptionCountDeps {
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

  constructor(deps: GarbageDeps, registry?: Registry) {
    this.#deps = deps
    this.#collected = garbageCounter(registry)
    this.#unproven = unprovenGauge(registry)
  }

  /**
   * Runs one pass. Everything is listed before claims are read, since a claim always exists before its resources. Each suspect is checked
   * live before it goes. What cannot be deleted is left to the next pass.
   * Errors: VMs or claims cannot be read.
   */
  async collect(signal: AbortSignal): Promise<GarbageReport> {
    const deps = this.#deps
    const found = await findResources(deps)
    await deps.cache.connected(signal)
    const claims = [...deps.cache.nodeClaims.values()]
    const suspects = garbageIn({ ...found, claims: claims.map((claim) => knownClaim(deps, claim, found)) }, deps.now())
    await reportWithheld(deps, suspects.withheld)
    reportUnproven(deps, found.unproven)
    this.#unproven.reset()
    for (const { cause } of found.unproven) this.#unproven.inc({ resource: 'disk', cause })
    const leftovers = this.#leftovers.seenTwice(suspects, deps.now())
    const report: GarbageReport = {
      virtualMachines: await this.#each(suspects.virtualMachines, (vm) => this.#vm(vm, found, signal), signal),
      networkInterfaces: await this.#each(leftovers.networkInterfaces, (nic) => this.#nic(nic, found), signal),
      disks: await this.#each(leftovers.disks, (disk) => this.#disk(disk), signal),
      nodeClaims: await this.#each(suspects.nodeClaims, (claim) => this.#nodeClaim(claim), signal),
      nodes: await this.#each(
        suspects.withheld === undefined ? orphanedNodes(deps) : [],
        (node) => this.#node(node),
        signal,
      ),
    }
    const machines = await this.#machines(suspects, signal)
    const all: GarbageReport = machines === undefined ? report : { ...report, aksMachines: machines }
    if (Object.values(all).some((names: readonly string[]) => names.length > 0))
      deps.log.warn(all, 'found leaked resources')
    return all
  }

  /** Machines are AKS' to list, so their failure must not keep the rest. Undefined where they are not managed. */
  async #machines({ withheld }: GarbageSuspects, signal: AbortSignal): Promise<readonly string[] | undefined> {
    if (this.#deps.config.managesMachines !== true) return undefined
    if (withheld !== undefined) return []
    const found: OrphanedMachines = await findOrphanedMachines(this.#deps).catch((error: unknown) => {
      this.#deps.log.warn({ reason: scrubbedMessage(error) }, 'failed to list AKS machines, retrying in the next pass')
      return { machines: [] }
    })
    if (found.withheld !== undefined) reportMachinesWithheld(this.#deps, found.withheld)
    return this.#each(found.machines, (machine) => this.#machine(machine, signal), signal)
  }

  async #machine(machine: FoundMachine, signal: AbortSignal): Promise<boolean> {
    const turn = { buckets: ['armWrites'], patienceMs, signal } as const
    const isDeleted = await inTurn(this.#deps.budget, turn, async () => {
      if (await this.#claimExists(machine.claimName)) return false
      return deleteOrphanedMachine(this.#deps, machine)
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
   * Deletes a VM. Claim and owner are read when the request may be sent at once: by then a claim of the name owns the VM, or makes room
   * for its own. Tags that changed since the list no longer prove anything.
   */
  async #vm({ name, claimName, claimUid }: FoundVm, found: FoundResources, signal: AbortSignal): Promise<boolean> {
    const turn = { buckets: ['armDeletes', 'deleteVm'], patienceMs, signal } as const
    const isDeleted = await inTurn(this.#deps.budget, turn, async () => {
      if (await this.#claimExists(claimName)) return false
      const vm = await getVm(this.#deps, claimName)
      const ownership = ownershipOf(vm?.tags, this.#deps.config)
      if (ownership.kind !== 'ours' || ownership.claimUid !== claimUid) return false
      await deleteVm(this.#deps, claimName)
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

  async #node(node: OrphanedNode): Promise<boolean> {
    if (await this.#claimExists(node.claimName)) return false
    const known = this.#deps.cache.nodes.get(node.name)
    if (!(await releaseNode(this.#deps, node))) return false
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
