import type { Quantity } from '../../quantity.ts'
import type { Resources } from '../../resources.ts'

/**
 * Resource amounts as vectors of doubles, one place for each resource that is known. The unit of a resource is the largest of 1,
 * 1/1,000, 1/1,000,000 and 1e-9 in which all its amounts are whole, so that sums and comparisons are exact up to 2^53 units. Every
 * amount is learned before the first vector of a pass is made.
 */
export class Amounts {
  readonly names: string[] = []
  readonly #index = new Map<string, number>()
  readonly #units: bigint[] = []
  #version = 0

  /** Another number: vectors that were made before mean something else now. */
  get version(): number {
    return this.#version
  }

  get size(): number {
    return this.names.length
  }

  learn(resources: Resources): void {
    for (const name in resources) {
      let at = this.#index.get(name)
      if (at === undefined) {
        at = this.names.length
        this.#index.set(name, at)
        this.names.push(name)
        this.#units.push(1_000_000_000n)
        this.#version += 1
      }
      const { nano } = resources[name] as Quantity
      while (nano % (this.#units[at] as bigint) !== 0n) {
        this.#units[at] = (this.#units[at] as bigint) / 1000n
        this.#version += 1
      }
    }
  }

  /** Where a resource stands in the vectors; -1: no amount of it was ever named. */
  indexOf(name: string): number {
    return this.#index.get(name) ?? -1
  }

  /** One of a resource in its unit. */
  whole(name: string): number {
    return Number(1_000_000_000n / (this.#units[this.indexOf(name)] ?? 1_000_000_000n))
  }

  vector(resources: Resources): Float64Array {
    const vector = new Float64Array(this.names.length)
    for (const name in resources) {
      const at = this.#index.get(name) as number
      vector[at] = Number((resources[name] as Quantity).nano / (this.#units[at] as bigint))
    }
    return vector
  }
}
