import { conditionOf } from '../../../core/conditions.ts'
import { isDeleting, type Node, type NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { forEachOf } from '../../concurrency.ts'
import { updateClaim, updateNode } from '../../kubernetes/client/object-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { claimNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { vmName } from '../launch/virtual-machine.ts'
import type { AzureParts } from '../parts.ts'
import type { ReservationGroup } from './reservation.ts'

export type DemotionDeps = WriteDeps & Pick<AzureParts, 'log' | 'events' | 'reservations'>

/** Azure may list a new VM in its group some time after it accepted the VM. */
const listedWithinMs = 5 * 60_000
/** Most age of the answers that demotion follows from. */
const freshMs = 30_000

/**
 * Changes the labels of NodeClaims and their Nodes whose capacity reservation has ended: they are on-demand from now on, and disruption treats them so
 * (docs/adr/0034-capacity-reservations.md). Nothing is changed while a group cannot be read. After a crash between NodeClaim and Node the next pass
 * finds the Node.
 */
export async function demoteReserved(deps: DemotionDeps): Promise<void> {
  const all = [...deps.cache.nodeClaims.values()]
  const claims = all.filter((claim) => !isDeleting(claim))
  const reserved = claims.filter(isReserved)
  if (reserved.length > 0) await deps.reservations.refresh(freshMs)
  const changes = ended(deps, all, reserved).map((one) => () => demote(deps, one))
  // Only a NodeClaim that was launched into a reservation can have a Node that still says so.
  const launchedInto = claims.filter(({ metadata }) => metadata.annotations[annotations.reservationGroup] !== undefined)
  const followers = launchedInto.map(
    ({ metadata }) =>
      () =>
        demoteNode(deps, metadata.name),
  )
  await forEachOf([...changes, ...followers], 1, (change) => change())
}

/** Has the Node of a NodeClaim that was demoted follow it. Its kubelet may have given it the id of the reservation again. */
async function demoteNode(deps: DemotionDeps, claimName: string): Promise<void> {
  const claim = deps.cache.nodeClaims.get(claimName)
  const node = claim === undefined ? undefined : claimNode(deps, claim)
  if (claim === undefined || node === undefined || !isOnDemand(claim)) return
  if (isReserved(node) || node.metadata.labels[labels.reservationId] !== undefined)
    await updateNode(deps, node.metadata.name, onDemandLabels)
}

const isReserved = ({ metadata }: NodeClaim | Node) => metadata.labels[labels.capacityType] === 'reserved'
const isOnDemand = ({ metadata }: NodeClaim) => metadata.labels[labels.capacityType] === 'on-demand'

interface Ended {
  readonly claim: NodeClaim
  readonly why: string
}

/** Returns the claims whose reservation has ended. Of those beyond its capacity the newest go first. */
function ended(
  { reservations }: DemotionDeps,
  claims: readonly NodeClaim[],
  reserved: readonly NodeClaim[],
): readonly Ended[] {
  const found: Ended[] = []
  const alive = new Map<string, Held>()
  for (const claim of reserved) {
    const group = reservations.group(claim.metadata.annotations[annotations.reservationGroup] ?? '')
    if (group === undefined) continue
    const why = whyEnded(claim, group, reservations.readAtMs)
    const id = claim.metadata.labels[labels.reservationId] ?? ''
    if (why !== undefined) found.push({ claim, why })
    else alive.set(id, { group, id, own: [...(alive.get(id)?.own ?? []), claim] })
  }
  for (const held of alive.values()) {
    const newest = [...held.own].sort(
      (a, b) => createdAt(b) - createdAt(a) || (a.metadata.name < b.metadata.name ? 1 : -1),
    )
    const why = `capacity reservation ${held.id} holds fewer VMs than are in it`
    found.push(...newest.slice(0, excessOf(held, claims)).map((claim) => ({ claim, why })))
  }
  return found
}

const createdAt = ({ metadata }: NodeClaim) => Date.parse(metadata.creationTimestamp)

function whyEnded(claim: NodeClaim, group: ReservationGroup, readAtMs: number): string | undefined {
  const id = claim.metadata.labels[labels.reservationId]
  const launched = conditionOf(claim.status.conditions, 'Launched')
  const launchedMs = launched?.status === 'True' ? Date.parse(launched.lastTransitionTime ?? '') : Number.NaN
  // An answer from before the launch says nothing about it.
  if (group.kind === 'unreadable' || !(readAtMs > launchedMs)) return undefined
  if (group.kind === 'gone') return `capacity reservation group ${group.groupId} is gone`
  if (!group.reservations.some((one) => one.id === id)) return `capacity reservation ${id ?? ''} is gone`
  if (readAtMs - launchedMs <= listedWithinMs) return undefined
  return group.associated.includes(vmName(claim.metadata.name).toLowerCase())
    ? undefined
    : `its VM is no longer in capacity reservation group ${group.groupId}`
}

interface Held {
  readonly group: ReservationGroup
  readonly id: string
  /** NodeClaims that count as reserved in it. */
  readonly own: readonly NodeClaim[]
}

/**
 * How many VMs of a reservation are beyond its capacity and still count as reserved. Those that were demoted before remain in it, and so do those whose
 * nodes are leaving until they are gone.
 */
function excessOf({ group, id, own }: Held, claims: readonly NodeClaim[]): number {
  const found = group.kind === 'read' ? group.reservations.find((one) => one.id === id) : undefined
  if (found?.isSettled !== true) return 0
  const allocated = new Set(found.allocated)
  const isIn = ({ metadata }: NodeClaim) => allocated.has(vmName(metadata.name).toLowerCase())
  const discounted = claims.filter((claim) => (isOnDemand(claim) || isDeleting(claim)) && isIn(claim)).length
  const excess = found.allocated.length + found.others - found.capacity - discounted
  return Math.min(Math.max(0, excess), own.filter(isIn).length)
}

async function demote(deps: DemotionDeps, { claim, why }: Ended): Promise<void> {
  const message = `${why}; the node counts as on-demand from now on`
  deps.log.warn({ nodeClaim: claim.metadata.name, why }, 'capacity reservation ended')
  const after = await updateClaim(deps, claim.metadata, onDemandLabels)
  if (after !== undefined) deps.events.record({ about: subject(claim), reason: 'CapacityReservationEnded', message })
}

function onDemandLabels(object: NodeClaim | Node) {
  if (!isReserved(object) && object.metadata.labels[labels.reservationId] === undefined) return undefined
  return { metadata: { labels: { [labels.capacityType]: 'on-demand', [labels.reservationId]: null } } }
}
