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

/** Time within which a launch is recorded in its NodeClaim, or fails. */
const chosenMs = 2 * 60_000

/** Places in reservations that launches of this process have chosen and that no NodeClaim tells of yet. A NodeClaim has one place at most. */
export class ChosenPlaces {
  readonly #now: () => number
  /** By the names of VMs, in lower case. */
  readonly #places = new Map<string, { readonly id: string; readonly atMs: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Keeps a place of a reservation for a NodeClaim; undefined: it takes none any more. */
  choose(claimName: string, id: string | undefined): void {
    const name = vmName(claimName).toLowerCase()
    if (id === undefined) this.#places.delete(name)
    else this.#places.set(name, { id, atMs: this.#now() })
  }

  /** Returns the names of VMs, in lower case, for which a place of the reservation is kept. */
  in(id: string): readonly string[] {
    for (const [name, { atMs }] of this.#places) if (Math.abs(this.#now() - atMs) >= chosenMs) this.#places.delete(name)
    return [...this.#places].flatMap(([name, place]) => (place.id === id ? [name] : []))
  }
}
