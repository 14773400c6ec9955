import { capacityTypeOf, type InstanceType, type Offering } from '../instance-type.ts'
import { isCompatible, type Requirements } from '../requirements/requirements.ts'

export interface ReservationSettings {
  readonly isEnabled: boolean
  readonly mode: 'Strict' | 'Fallback'
  readonly idLabel: string
  readonly wellKnown: ReadonlySet<string>
}

export type ReservationAnswer =
  | { readonly kind: 'reserve'; readonly ids: ReadonlySet<string> }
  /** `isDeferred`: the pod waits for a reservation; nothing else is tried for it. */
  | { readonly kind: 'refused'; readonly message: string; readonly isDeferred: boolean }

/** Which claims of a pass may use which capacity reservations (reference/karpenter-core.md 3.12, reference/karpenter-1.15.md 3.12). */
export class Reservations {
  readonly #settings: ReservationSettings
  readonly #left: Map<string, number>
  readonly #held = new Map<string, ReadonlySet<string>>()

  constructor(
    types: Iterable<InstanceType>,
    settings: ReservationSettings,
    left: ReadonlyMap<string, number> = new Map(),
  ) {
    this.#settings = settings
    this.#left = new Map(left)
    for (const { offerings } of types) {
      for (const offering of offerings.filter(isReserved)) {
        const id = this.#idOf(offering)
        // The same reservation may be told of with different numbers: the least is safe.
        this.#left.set(id, Math.min(this.#left.get(id) ?? Number.POSITIVE_INFINITY, offering.reservationCapacity ?? 0))
      }
    }
  }

  /** The same with nothing held, for another pass; of one that holds nothing itself. */
  fresh(): Reservations {
    return new Reservations([], this.#settings, this.#left)
  }

  /** The reservations for a claim that may become one of these types; as many as it can get, for as long as it can use them. */
  ask(hostname: string, types: readonly InstanceType[], requirements: Requirements): ReservationAnswer {
    if (!this.#settings.isEnabled) return { kind: 'reserve', ids: new Set() }
    const usable = types
      .flatMap(({ offerings }) => offerings)
      .filter((one) => one.available && isCompatible(requirements, one.requirements, this.#settings.wellKnown))
    const reserved = usable.filter(isReserved)
    const open = reserved.filter(({ reservationCapacity = 0 }) => reservationCapacity > 0)
    const ids = new Set(open.map((offering) => this.#idOf(offering)).filter((id) => this.#canHold(hostname, id)))
    const onlyFull = reserved.length > 0 && open.length === 0 && usable.length === reserved.length
    const message = this.#settings.mode === 'Strict' ? this.#deferral(hostname, ids, open.length, onlyFull) : undefined
    if (message !== undefined) return { kind: 'refused', message, isDeferred: true }
    if (onlyFull) {
      const fallThrough = 'the only compatible reserved offering is full; falling through to other NodePools'
      return { kind: 'refused', message: fallThrough, isDeferred: false }
    }
    return { kind: 'reserve', ids }
  }

  /** Gives a claim these reservations in place of those it had. */
  hold(hostname: string, ids: ReadonlySet<string>): void {
    for (const id of this.held(hostname)) if (!ids.has(id)) this.#left.set(id, (this.#left.get(id) ?? 0) + 1)
    for (const id of ids) if (!this.held(hostname).has(id)) this.#left.set(id, (this.#left.get(id) ?? 0) - 1)
    this.#held.set(hostname, ids)
  }

  held(hostname: string): ReadonlySet<string> {
    return this.#held.get(hostname) ?? none
  }

  #canHold(hostname: string, id: string): boolean {
    return this.held(hostname).has(id) || (this.#left.get(id) ?? 0) > 0
  }

  #deferral(hostname: string, ids: ReadonlySet<string>, open: number, onlyFull: boolean): string | undefined {
    if (open > 0 && ids.size === 0) {
      return 'one or more instance types with compatible reserved offerings are available, but could not be reserved'
    }
    if (onlyFull) return 'all compatible reserved offerings are full and no on-demand or spot fallback is available'
    if (this.held(hostname).size > 0 && ids.size === 0) {
      return 'satisfying updated nodeclaim constraints would remove all compatible reserved offering options'
    }
    return undefined
  }

  #idOf({ requirements }: Offering): string {
    return [...(requirements.get(this.#settings.idLabel)?.values ?? [])][0] ?? ''
  }
}

const none: ReadonlySet<string> = new Set()
const isReserved = (offering: Offering) => capacityTypeOf(offering) === 'reserved'
