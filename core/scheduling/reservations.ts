import { capacityTypeOf, type InstanceType, type Offering } from '../instance-type.ts'
import { isCompatible, type Requirements } from '../requirements/requirements.ts'
import type { ReservationProblem } from './unschedulable.ts'

export interface ReservationSettings {
  readonly isEnabled: boolean
  readonly mode: 'Strict' | 'Fallback'
  readonly idLabel: string
  readonly wellKnown: ReadonlySet<string>
}

export type ReservationAnswer =
  | { readonly kind: 'reserve'; readonly ids: ReadonlySet<string> }
  /** `isDeferred`: the pod waits for a reservation; nothing else is tried for it. */
  | { readonly kind: 'refused'; readonly problem: ReservationProblem; readonly isDeferred: boolean }

/** Decides which claims of a pass may use which capacity reservations (reference/karpenter-core.md 3.12, reference/karpenter-1.15.md 3.12). */
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
        // The same reservation may be reported with different numbers: the least is safe.
        this.#left.set(id, Math.min(this.#left.get(id) ?? Number.POSITIVE_INFINITY, offering.reservationCapacity ?? 0))
      }
    }
  }

  /** Returns the same without any holds, for another pass. It must hold nothing itself. */
  fresh(): Reservations {
    return new Reservations([], this.#settings, this.#left)
  }

  /** Returns the reservations for a claim that may become one of these types; as many as it can get, for as long as it can use them. */
  ask(hostname: string, types: readonly InstanceType[], requirements: Requirements): ReservationAnswer {
    if (!this.#settings.isEnabled) return { kind: 'reserve', ids: new Set() }
    const usable = types
      .flatMap(({ offerings }) => offerings)
      .filter((one) => one.available && isCompatible(requirements, one.requirements, this.#settings.wellKnown))
    const reserved = usable.filter(isReserved)
    const open = reserved.filter(({ reservationCapacity = 0 }) => reservationCapacity > 0)
    const ids = new Set(open.map((offering) => this.#idOf(offering)).filter((id) => this.#canHold(hostname, id)))
    const onlyFull = reserved.length > 0 && open.length === 0 && usable.length === reserved.length
    const isStrict = this.#settings.mode === 'Strict'
    const problem = isStrict ? this.#deferral(hostname, ids, { hasOpen: open.length > 0, onlyFull }) : undefined
    if (problem !== undefined) return { kind: 'refused', problem, isDeferred: true }
    if (onlyFull) return { kind: 'refused', problem: 'falls-through', isDeferred: false }
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

  #deferral(
    hostname: string,
    ids: ReadonlySet<string>,
    { hasOpen, onlyFull }: { readonly hasOpen: boolean; readonly onlyFull: boolean },
  ): ReservationProblem | undefined {
    if (hasOpen && ids.size === 0) return 'none-left'
    if (onlyFull) return 'all-full'
    return this.held(hostname).size > 0 && ids.size === 0 ? 'would-lose-all' : undefined
  }

  #idOf({ requirements }: Offering): string {
    return [...(requirements.get(this.#settings.idLabel)?.values ?? [])][0] ?? ''
  }
}

const none: ReadonlySet<string> = new Set()
const isReserved = (offering: Offering) => capacityTypeOf(offering) === 'reserved'
