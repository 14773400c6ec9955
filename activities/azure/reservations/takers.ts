import { isTrue } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { vmName } from '../launch/virtual-machine.ts'

/**
 * Returns names of VMs, in lower case, by the reservation in which NodeClaims take a place for them. A claim that is not launched may take any that it
 * asks for, so it counts in all of them.
 */
export function takersIn(claims: Iterable<NodeClaim>): ReadonlyMap<string, ReadonlySet<string>> {
  const takers = new Map<string, Set<string>>()
  for (const claim of claims)
    for (const id of heldBy(claim)) {
      const names = takers.get(id) ?? new Set()
      takers.set(id, names.add(vmName(claim.metadata.name).toLowerCase()))
    }
  return takers
}

/** Returns the ids of the reservations in which a claim takes a place. */
export function heldBy({ metadata, spec, status }: NodeClaim): readonly string[] {
  if (isTrue(status.conditions, 'Launched')) {
    const id = metadata.labels[labels.reservationId]
    return id === undefined || metadata.labels[labels.capacityType] !== 'reserved' ? [] : [id]
  }
  return reservationsAskedFor(spec)
}

/** Returns the ids of the reservations that a claim may be launched into, by its requirements. */
export function reservationsAskedFor({ requirements }: NodeClaim['spec']): readonly string[] {
  return requirements
    .filter(({ key, operator }) => key === labels.reservationId && operator === 'In')
    .flatMap(({ values = [] }) => values)
}
