import type { Registry } from 'prom-client'
import {
  type FoundPart,
  type FoundVm,
  type GarbageSuspects,
  garbageIn,
  type KnownClaim,
} from '../../../core/garbage.ts'
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
import { vmName } from '../launch/virtual-machine.ts'
import type { FoundResourcesDeps } from './found-resources.ts'
import { type FoundResources, findResources, isUnattached, leftoverNic } from './found-resources.ts'
import { type GarbageKind, garbageCounter, unprovenGauge } from './garbage-metrics.ts'
import { knownClaim } from './known-claim.ts'
import { deleted } from './last-look.ts'
import type { LeftAloneDeps } from './left-alone.ts'
import { ownNamespace, reportUnproven, reportWithheld } from './left-alone.ts'
import type { OrphanedNodesDeps } from './orphaned-nodes.ts'
import { type OrphanedNode, orphanedNodes, releaseNode } from './orphaned-nodes.ts'

export interface GarbageDeps extends FoundResourcesDeps, LeftAloneDeps, OrphanedNodesDeps, DisruptionCountDeps {
  /** Tokens for requests of `azure`, which takes them by itself. */
  readonly budget: ArmBudget
}

/** Most requests of a pass at once. */
const width = 16

/** Longest wait of a deletion for its turn under ARM's limits, before it is left to the next pass. */
const patienceMs = 60_000

/**
 * Azure deletes NICs and disks a little after the VM that takes them along, and NICs do not say when they were made: so a NIC or disk must
 * have been seen without an owner by an earlier pass, this long ago at least.
 */
const seenForMs = 10_000

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
  /** When a NIC or disk was first seen without an owner, by its name. */
  readonly #seen = new Map<string, number>()

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
    const leftovers = this.#seenTwice(suspects)
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
    if (Object.values(report).some((names: readonly string[]) => names.length > 0))
      deps.log.warn(report, 'found leaked resources')
    return report
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
    if (claim?.metadata.uid !== uid || (await getVm(this.#deps, name)) !== undefined) return false
    await this.#deps.client.delete(resourcePath('nodeclaims', name), { uid }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
    countDisruption(this.#deps, claim, 'garbage_collected')
    const message = `VM ${vmName(name)} is gone; the NodeClaim is deleted`
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

  /** Returns NICs and disks that an earlier pass has seen without an owner as well. */
  #seenTwice({ networkInterfaces, disks }: GarbageSuspects): Pick<GarbageSuspects, 'networkInterfaces' | 'disks'> {
    const now = this.#deps.now()
    const key = (kind: GarbageKind, { name }: FoundPart) => `${kind}/${name}`
    const present = new Set([
      ...networkInterfaces.map((nic) => key('networkInterface', nic)),
      ...disks.map((disk) => key('disk', disk)),
    ])
    for (const one of this.#seen.keys()) if (!present.has(one)) this.#seen.delete(one)
    for (const one of present) if (!this.#seen.has(one)) this.#seen.set(one, now)
    const isOld = (kind: GarbageKind) => (part: FoundPart) =>
      now - (this.#seen.get(key(kind, part)) ?? now) >= seenForMs
    return {
      networkInterfaces: networkInterfaces.filter(isOld('networkInterface')),
      disks: disks.filter(isOld('disk')),
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
