import { type InstanceType, isLaunchable, type Offering } from '../../instance-type.ts'
import { labels } from '../../requirements/labels.ts'
import { isCompatible } from '../../requirements/requirements.ts'
import type { RequirementSet, RequirementSets } from './requirement-sets.ts'

/** What types cost for one set of requirements. */
export interface Prices {
  /** Numbers of the types by their lowest price, then by name; those that cannot be launched come last. */
  readonly order: readonly number[]
  /** The lowest price at which each type can be launched, in USD an hour; infinite where it cannot. */
  readonly lowest: Float64Array
  /** Capacity types in which each type can be launched, as bits of `capacityTypes`. */
  readonly launchable: Uint32Array
}

interface PricedOffering {
  readonly type: number
  readonly price: number
  /** As bits of `capacityTypes`; none when it is unset. */
  readonly capacityBits: number
}

/** Launchable offerings of a list of types, grouped by equal requirements. Sets that admit the same offerings share their prices. */
export class PriceList {
  readonly capacityTypes: string[] = []
  readonly #count: number
  readonly #wellKnown: ReadonlySet<string>
  readonly #offerings: { readonly requires: RequirementSet; readonly priced: PricedOffering[] }[] = []
  readonly #bySet = new Map<number, Prices>()
  readonly #byAdmitted = new Map<string, Prices>()

  /** `types` in order of their names. */
  constructor(types: readonly InstanceType[], sets: RequirementSets, wellKnown: ReadonlySet<string>) {
    this.#count = types.length
    this.#wellKnown = wellKnown
    const known = new Map<number, PricedOffering[]>()
    types.forEach(({ offerings }, type) => {
      for (const offering of offerings) {
        if (!isLaunchable(offering)) continue
        const requires = sets.intern(offering.requirements)
        let priced = known.get(requires.id)
        if (priced === undefined) {
          priced = []
          known.set(requires.id, priced)
          this.#offerings.push({ requires, priced })
        }
        priced.push({ type, price: offering.price, capacityBits: this.#capacityBits(offering) })
      }
    })
  }

  pricesFor(set: RequirementSet): Prices {
    const known = this.#bySet.get(set.id)
    if (known !== undefined) return known
    const admitted = this.#offerings.filter(({ requires }) => isCompatible(set.map, requires.map, this.#wellKnown))
    const key = admitted.map(({ requires }) => requires.id).join()
    const prices = this.#byAdmitted.get(key) ?? this.#price(admitted.map(({ priced }) => priced))
    this.#byAdmitted.set(key, prices)
    this.#bySet.set(set.id, prices)
    return prices
  }

  #price(admitted: readonly (readonly PricedOffering[])[]): Prices {
    const lowest = new Float64Array(this.#count).fill(Number.POSITIVE_INFINITY)
    const launchable = new Uint32Array(this.#count)
    for (const offerings of admitted) {
      for (const { type, price, capacityBits } of offerings) {
        lowest[type] = Math.min(lowest[type] as number, price)
        launchable[type] = (launchable[type] as number) | capacityBits
      }
    }
    const order = Array.from(lowest, (_, type) => type)
    order.sort((a, b) => {
      const [left, right] = [lowest[a] as number, lowest[b] as number]
      return left === right ? a - b : left - right
    })
    return { order, lowest, launchable }
  }

  #capacityBits({ requirements }: Offering): number {
    let bits = 0
    for (const name of requirements.get(labels.capacityType)?.values ?? []) {
      const known = this.capacityTypes.indexOf(name)
      bits |= 1 << (known >= 0 ? known : this.capacityTypes.push(name) - 1)
    }
    return bits
  }
}
