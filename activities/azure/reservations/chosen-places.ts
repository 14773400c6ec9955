import { vmName } from '../launch/virtual-machine.ts'

/** Time within which a launch is recorded in its NodeClaim, or fails. */
const chosenMs = 2 * 60_000

/** Places in reservations that launches of this process have chosen and that no NodeClaim tells of yet. A NodeClaim has one place at most. */
export class ChosenPlaces {
  readonly #now: () => number
  /** By the names of VMs, in lower case. */
  readonly #places = new Map<string, { readonly id: string; readonly untilMs: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Keeps a place of a reservation for a NodeClaim; undefined: it takes none any more. */
  choose(claimName: string, id: string | undefined): void {
    const name = vmName(claimName).toLowerCase()
    if (id === undefined) this.#places.delete(name)
    else this.#places.set(name, { id, untilMs: this.#now() + chosenMs })
  }

  /** Returns the names of VMs, in lower case, for which a place of the reservation is kept. */
  in(id: string): readonly string[] {
    for (const [name, { untilMs }] of this.#places) if (untilMs <= this.#now()) this.#places.delete(name)
    return [...this.#places].flatMap(([name, place]) => (place.id === id ? [name] : []))
  }
}
