import type { WithheldMachine } from '../../../api/withheld-machines.ts'
import type { AskedAdoption } from '../../../core/adoption.ts'
import { isTrue } from '../../../core/conditions.ts'
import {
  doubtOf,
  type FoundPart,
  type FoundVm,
  type GarbageSuspects,
  garbageIn,
  type KnownClaim,
} from '../../../core/garbage.ts'
import { namingNode, type PodCounts } from '../../../core/machines-in-use.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import type { OrphanedMachines } from '../../../core/orphaned-machines.ts'
import { inParallel } from '../../concurrency.ts'
import { claimNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import { armErrorCode, scrubbedMessage } from '../arm/azure-error.ts'
import type { GarbageReport } from '../contract.ts'
import { providerId } from '../launch/virtual-machine.ts'
import type { AzureParts } from '../parts.ts'
import { withheldVms } from './adoptions.ts'
import { GarbageDeletions, type GarbageDeps } from './deletions.ts'
import { FirstSeen } from './first-seen.ts'
import { type FoundResources, findResources } from './found-resources.ts'
import { type GarbageKind, unprovenGauge } from './garbage-metrics.ts'
import { reportMachinesWithheld, reportUnproven, reportWithheld } from './left-alone.ts'
import { listedInstance } from './listed-instance.ts'
import { nodesNaming } from './machines-in-use.ts'
import { findOrphanedMachines } from './orphaned-machines.ts'
import { orphanedNodes } from './orphaned-nodes.ts'
import { reportUnownedInstances } from './unowned-instances.ts'
import { reportWithheldMachines } from './withheld-machines.ts'

/** Most requests of a pass at once. */
const width = 16

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
  readonly #deletions: GarbageDeletions
  readonly #unproven: ReturnType<typeof unprovenGauge>
  readonly #leftovers = new SeenLeftovers()
  readonly #machines = new FirstSeen()

  constructor(deps: GarbageDeps) {
    this.#deps = deps
    this.#deletions = new GarbageDeletions(deps)
    this.#unproven = unprovenGauge(deps.registry)
  }

  /**
   * Runs one pass. Everything is listed before claims are read, since a claim always exists before its resources. Each suspect is checked
   * live before it goes. What cannot be deleted is left to the next pass. `counts`: which Nodes run pods, as the role core answered; without it
   * nothing whose Node is Ready is deleted. `asked`: what an operator wants to be adopted now.
   * Errors: VMs or claims cannot be read.
   */
  async collect(signal: AbortSignal, counts?: PodCounts, asked?: AskedAdoption): Promise<GarbageReport> {
    const deps = this.#deps
    const found = await findResources(deps)
    await deps.cache.connected(signal)
    const snapshot = this.#snapshot(found)
    const suspects = garbageIn({ ...snapshot, counts }, deps.now())
    await reportWithheld(deps, suspects.withheld)
    this.#reportUnproven(found)
    const isInDoubt = doubtOf(snapshot.claims) !== undefined
    await reportUnownedInstances(deps, { listed: found.listed, isInDoubt })
    const leftovers = this.#leftovers.seenTwice(suspects, deps.now())
    const report: GarbageReport = {
      virtualMachines: await this.#each(
        suspects.virtualMachines,
        (vm) => this.#deletions.vm(vm, { found, counts }, signal),
        signal,
      ),
      networkInterfaces: await this.#each(
        leftovers.networkInterfaces,
        (nic) => this.#deletions.nic(nic, found),
        signal,
      ),
      disks: await this.#each(leftovers.disks, (disk) => this.#deletions.disk(disk), signal),
      nodeClaims: await this.#each(suspects.nodeClaims, (claim) => this.#deletions.nodeClaim(claim), signal),
      nodes: await this.#each(suspects.heldNodes, (node) => this.#deletions.node(node, counts), signal),
    }
    const machines = await this.#orphanedMachines(isInDoubt, counts)
    const all: GarbageReport =
      machines === undefined
        ? report
        : {
            ...report,
            aksMachines: await this.#each(
              machines.machines,
              (one) => this.#deletions.machine(one, counts, signal),
              signal,
            ),
          }
    if (Object.values(all).some((names: readonly string[]) => names.length > 0))
      deps.log.warn(all, 'found leaked resources')
    if (isInDoubt) return all
    return { ...all, ...(await this.#inUse(suspects, { found, machines, counts, asked })) }
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
      heldNodes: orphanedNodes(deps).filter(({ vm }) => !found.listed.has(vm.providerId.toLowerCase())),
    }
  }

  #reportUnproven({ unproven }: FoundResources): void {
    reportUnproven(this.#deps, unproven)
    this.#unproven.reset()
    for (const { cause } of unproven) this.#unproven.inc({ resource: 'disk', cause })
  }

  /** Reports what pods keep, and returns what of it gets a NodeClaim again. Before the role core was asked, returns the Ready Nodes to ask about instead. */
  async #inUse(
    { vmsInUse, nodesInUse }: GarbageSuspects,
    {
      found,
      machines,
      counts,
      asked,
    }: {
      readonly found: FoundResources
      readonly machines: OrphanedMachines | undefined
      readonly counts: PodCounts | undefined
      readonly asked: AskedAdoption | undefined
    },
  ): Promise<Pick<GarbageReport, 'undecided' | 'adopt'>> {
    const machinesInUse = machines?.inUse ?? []
    const nodes = [...vmsInUse, ...nodesInUse, ...machinesInUse].flatMap(({ nodes: naming = [] }) => naming)
    if (counts === undefined && nodes.length > 0)
      return { undecided: [...new Set(nodes.filter(({ isReady }) => isReady).map(({ name }) => name))].sort() }
    const vms = await withheldVms(this.#deps, found, { vmsInUse, machinesInUse, asked })
    const withheld: readonly WithheldMachine[] = [
      ...vms.machines,
      ...nodesInUse.map(({ name, use }) => ({ kind: 'Node' as const, name, ...use })),
    ]
    await reportWithheldMachines(this.#deps, withheld, vms.doubt)
    return vms.due.length === 0 ? {} : { adopt: vms.due }
  }

  /** Machines are AKS' to list, so their failure must not keep the rest. Undefined where they are not managed, or not known. */
  async #orphanedMachines(isInDoubt: boolean, counts: PodCounts | undefined): Promise<OrphanedMachines | undefined> {
    const none: OrphanedMachines = { machines: [], inUse: [] }
    if (this.#deps.config.managesMachines !== true) return undefined
    if (isInDoubt) return none
    const found = await findOrphanedMachines(this.#deps, { counts, seen: this.#machines }).catch((error: unknown) => {
      this.#deps.log.warn({ reason: scrubbedMessage(error) }, 'failed to list AKS machines, retrying in the next pass')
      return none
    })
    if (found.withheld !== undefined) reportMachinesWithheld(this.#deps, found.withheld)
    return found
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
}

/** Returns a NodeClaim as the rules of garbage need it. */
function knownClaim(
  deps: Pick<AzureParts, 'cache' | 'config'>,
  claim: NodeClaim,
  { listed }: Pick<FoundResources, 'listed'>,
): KnownClaim {
  const { name, uid, deletionTimestamp } = claim.metadata
  const node = claimNode(deps, claim)
  return {
    name,
    uid,
    isRegistered: isTrue(claim.status.conditions, 'Registered'),
    isBeingDeleted: deletionTimestamp !== undefined,
    hasReadyNode: node !== undefined && isTrue(node.conditions, 'Ready'),
    instance: listedInstance(claim, listed, deps.config),
  }
}

/**
 * Azure deletes NICs and disks a little after the VM that takes them along, and NICs do not say when they were made: so a NIC or disk must
 * have been seen without an owner by an earlier pass, this long ago at least.
 */
const seenForMs = 10_000

/** NICs and disks without an owner, over several passes. */
class SeenLeftovers {
  readonly #seen = new FirstSeen()

  /** Returns NICs and disks that an earlier pass has seen without an owner as well. */
  seenTwice(
    { networkInterfaces, disks }: GarbageSuspects,
    now: number,
  ): Pick<GarbageSuspects, 'networkInterfaces' | 'disks'> {
    const key = (kind: GarbageKind, { name }: FoundPart) => `${kind}/${name}`
    const seen = this.#seen.look(
      [...networkInterfaces.map((nic) => key('networkInterface', nic)), ...disks.map((disk) => key('disk', disk))],
      now,
    )
    const isOld = (kind: GarbageKind) => (part: FoundPart) => now - (seen.get(key(kind, part)) ?? now) >= seenForMs
    return {
      networkInterfaces: networkInterfaces.filter(isOld('networkInterface')),
      disks: disks.filter(isOld('disk')),
    }
  }
}
