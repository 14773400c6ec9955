import type { CapacityReservation } from '@azure/arm-compute'
import type { Logger } from 'pino'
import type { NodeClass } from '../../../api/objects.ts'
import { isTrue } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { hasPassed } from '../../../core/values/time.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { isResourceGone, scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureClient } from '../arm/client.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { DurableDocument, KeptAnswer } from '../catalogue/durable-document.ts'
import { vmName } from '../launch/virtual-machine.ts'
import { distinctGroups, type GroupId, groupKey, mostGroupsRead, namedGroups, parseGroupId } from './group-id.ts'
import { groupOf, type OfferedReservation, type Reservation, type ReservationGroup, unreadable } from './reservation.ts'
import { ChosenPlaces, heldBy, reservationsAskedFor, takersIn } from './takers.ts'

/** Interval of reading the groups, while any is named. */
const pollEveryMs = 60_000
/** Delay of a reading after an AKSNodeClass named another group, or a NodeClaim went. */
const soonMs = 2000
/** Age above which an answer counts as none: what is free may be long gone. */
const lifetimeMs = 15 * 60_000

interface Deps extends Pick<Parts, 'cache' | 'log' | 'now'> {
  /** Undefined in a process without the role azure, which follows what one with it stores. */
  readonly azure: AzureClient | undefined
  readonly document: Pick<DurableDocument<readonly ReservationGroup[]>, 'write' | 'follow'>
  readonly config: AzureConfig
  /** The gate ReservedCapacity. While it is off nothing is read and nothing is offered. */
  readonly isEnabled: boolean
}

/**
 * The capacity reservation groups that AKSNodeClasses name, as Azure described them, and what NodeClaims take of them since. Who takes a place is
 * known by the names of VMs, so a VM that both Azure and a NodeClaim report counts once (docs/adr/0034-capacity-reservations.md).
 */
export class CapacityReservations {
  readonly #deps: Deps
  readonly #endWatching: () => void
  #groups: ReadonlyMap<string, ReservationGroup> = new Map()
  /** When the reading of the groups began. */
  #readAtMs = Number.NEGATIVE_INFINITY
  /** Names of VMs by reservation, of NodeClaims; undefined after a change. */
  #takers: ReadonlyMap<string, ReadonlySet<string>> | undefined
  readonly #chosen: ChosenPlaces
  #timer: NodeJS.Timeout | undefined
  #reading: { readonly sinceMs: number; readonly end: Promise<void> } | undefined
  #dueMs = Number.POSITIVE_INFINITY
  #isStarted = false
  #endFollowing: () => void = () => {}

  constructor(deps: Deps) {
    this.#deps = deps
    this.#chosen = new ChosenPlaces(deps.now)
    this.#endWatching = deps.cache.onChange(({ kind, before, after }) => {
      if (kind === 'NodeClaim') this.#observe(before as NodeClaim | undefined, after as NodeClaim | undefined)
      if (kind === 'AKSNodeClass' && groupsText(before) !== groupsText(after)) this.#schedule(soonMs)
    })
  }

  /** Reads the groups, or follows other processes' readings, in the background until `stop`. */
  start(): void {
    const { isEnabled, azure, document, log } = this.#deps
    if (!isEnabled) return
    if (azure === undefined) this.#endFollowing = document.follow((stored) => this.#takeStored(stored), log)
    this.#isStarted = azure !== undefined
    this.#schedule(0)
  }

  stop(): void {
    this.#isStarted = false
    clearTimeout(this.#timer)
    this.#endFollowing()
    this.#endWatching()
  }

  /** Returns the groups that a node class names, and what is wrong with each of the others. None while the gate is off. */
  named(nodeClass: Pick<NodeClass, 'metadata'>): ReturnType<typeof namedGroups> {
    return this.#deps.isEnabled ? namedGroups(nodeClass, this.#deps.config) : { groups: [], problems: [] }
  }

  /** Returns the reservations that a node class may use, full ones included. */
  offeredTo(nodeClass: Pick<NodeClass, 'metadata'>): readonly OfferedReservation[] {
    return this.named(nodeClass).groups.flatMap(({ id: groupId }) => {
      const group = this.group(groupId)
      if (group?.kind !== 'read') return []
      return group.reservations.map((one) => ({
        id: one.id,
        groupId,
        instanceType: one.instanceType,
        zone: one.zone,
        free: this.#free(one),
      }))
    })
  }

  /** Returns a value that changes when what a node class is offered does. */
  signature(nodeClass: Pick<NodeClass, 'metadata'>): string {
    const { groups } = this.named(nodeClass)
    if (groups.length === 0) return ''
    const counts = this.offeredTo(nodeClass).map(({ id, free }) => `${id}=${free}`)
    return `groups:${counts.join()}`
  }

  /** Whether a NodeClaim's VM fits into a reservation: its own place in it is not counted. */
  hasRoom(id: string, claimName: string): boolean {
    const found = this.#find(id)
    return found !== undefined && this.#free(found, vmName(claimName).toLowerCase()) > 0
  }

  /**
   * Keeps a place for a NodeClaim's VM from its choice on, until the claim says that it was launched: not every claim asks for a reservation by its id.
   * A claim has one place at most, and none after another choice.
   */
  choose(claimName: string, id: string | undefined): void {
    this.#chosen.choose(claimName, id)
  }

  /** Reads the groups when a NodeClaim asks for a reservation that is not known: another process may have read more. */
  async know({ spec }: NodeClaim): Promise<void> {
    if (reservationsAskedFor(spec).some((id) => this.#find(id) === undefined)) await this.refresh(soonMs)
  }

  /** From the launch on a claim itself says what it holds, and one that is gone holds nothing. Azure's last answer still counts its VM. */
  #observe(before: NodeClaim | undefined, after: NodeClaim | undefined): void {
    this.#takers = undefined
    const isWaiting = after !== undefined && !isTrue(after.status.conditions, 'Launched')
    if (!isWaiting) this.#chosen.choose((after ?? before)?.metadata.name ?? '', undefined)
    if (after === undefined && before !== undefined && heldBy(before).length > 0) this.#schedule(soonMs)
  }

  #find(id: string): Reservation | undefined {
    for (const groupId of this.#groups.keys()) {
      const group = this.group(groupId)
      const found = group?.kind === 'read' ? group.reservations.find((one) => one.id === id) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Returns what Azure last said about a group; undefined when that is not known, or too long ago. */
  group(groupId: string): ReservationGroup | undefined {
    if (Math.abs(this.#deps.now() - this.#readAtMs) > lifetimeMs) return undefined
    return this.#groups.get(groupKey(groupId))
  }

  /** When the reading of what is known began, in epoch ms. */
  get readAtMs(): number {
    return this.#readAtMs
  }

  /** Reads the groups if the last reading is older than `maxAgeMs`. What cannot be read is known as unreadable. */
  async refresh(maxAgeMs = 0): Promise<void> {
    const { azure, isEnabled, now } = this.#deps
    if (azure === undefined || !isEnabled || !hasPassed(maxAgeMs, this.#readAtMs, now())) return
    const earlier = this.#reading
    if (earlier !== undefined && now() - earlier.sinceMs > maxAgeMs) {
      // It may lack what this one is asked for.
      await earlier.end
      return this.refresh(Math.max(maxAgeMs, 1))
    }
    // All who ask meanwhile share one reading.
    this.#reading ??= {
      sinceMs: now(),
      end: this.#read(azure).finally(() => {
        this.#reading = undefined
      }),
    }
    await this.#reading.end
  }

  async #read(azure: AzureClient): Promise<void> {
    const { now, document, config, log } = this.#deps
    const readAtMs = now()
    const groups = await Promise.all(this.#wanted().map((group) => readGroup({ azure, config, log }, group)))
    const isNews = groups.length > 0 || this.#groups.size > 0
    this.#take(groups, readAtMs)
    if (!isNews) return
    await document
      .write({ value: groups, readAtMs })
      .catch((error: unknown) => log.warn({ err: error }, 'failed to store capacity reservations for planners'))
  }

  /** Returns the groups of node classes, and those of launched NodeClaims: whether their reservations end must be known as long as they live. */
  #wanted(): readonly GroupId[] {
    const { cache, config, log } = this.#deps
    const named = [...cache.nodeClasses.values()].flatMap((nodeClass) => this.named(nodeClass).groups)
    const held = [...cache.nodeClaims.values()]
      .filter(({ metadata }) => metadata.labels[labels.capacityType] === 'reserved')
      .flatMap(({ metadata }) => parseGroupId(metadata.annotations[annotations.reservationGroup] ?? '', config) ?? [])
    const wanted = distinctGroups([...named, ...held])
    if (wanted.length > mostGroupsRead)
      log.warn({ groups: wanted.length }, `only ${mostGroupsRead} capacity reservation groups are read`)
    return wanted.slice(0, mostGroupsRead)
  }

  #takeStored({ value, readAtMs }: KeptAnswer<readonly ReservationGroup[]>): void {
    if (readAtMs > this.#readAtMs) this.#take(value, readAtMs)
  }

  #take(groups: readonly ReservationGroup[], readAtMs: number): void {
    this.#groups = new Map(groups.map((group) => [groupKey(group.groupId), group]))
    this.#readAtMs = readAtMs
  }

  #free({ id, capacity, allocated, others }: Reservation, except?: string): number {
    const takers = new Set([...allocated, ...(this.#takersOf(id) ?? []), ...this.#chosen.in(id)])
    if (except !== undefined) takers.delete(except)
    return capacity - others - takers.size
  }

  #takersOf(id: string): ReadonlySet<string> | undefined {
    this.#takers ??= takersIn(this.#deps.cache.nodeClaims.values())
    return this.#takers.get(id)
  }

  #schedule(delayMs: number): void {
    const dueMs = this.#deps.now() + delayMs
    if (!this.#isStarted || dueMs >= this.#dueMs) return
    clearTimeout(this.#timer)
    this.#dueMs = dueMs
    this.#timer = setTimeout(() => {
      this.#dueMs = Number.POSITIVE_INFINITY
      void this.refresh()
        .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'failed to read capacity reservations'))
        .then(() => this.#schedule(pollEveryMs))
    }, delayMs)
    this.#timer.unref()
  }
}

function groupsText(object: { readonly metadata: NodeClass['metadata'] } | undefined): string {
  return object?.metadata.annotations[annotations.reservationGroups] ?? ''
}

interface ReadDeps {
  readonly azure: AzureClient
  readonly config: AzureConfig
  readonly log: Logger
}

/** Reads a group by two requests: what is reserved, and which VMs are in it. Only Azure's word about the group itself proves that it is gone. */
export async function readGroup(
  { azure: { compute }, config, log }: ReadDeps,
  { id: groupId, resourceGroup, name }: GroupId,
): Promise<ReservationGroup> {
  try {
    const group = await compute.capacityReservationGroups.get(resourceGroup, name, { expand: 'instanceView' })
    const reservations: CapacityReservation[] = []
    for await (const one of compute.capacityReservations.listByCapacityReservationGroup(resourceGroup, name))
      reservations.push(one)
    return groupOf({ groupId, group, reservations }, config)
  } catch (error) {
    if (isResourceGone(error, name)) return { groupId, kind: 'gone' }
    const why = scrubbedMessage(error)
    log.warn({ group: groupId, why }, 'capacity reservation group could not be read')
    return unreadable(groupId, `cannot be read: ${why}`)
  }
}
