import type { Resources } from '../../resources.ts'
import type { Quantity } from '../../values/quantity.ts'

/** Where the vectors say that something is asked for of a resource that nobody offers. */
const lacking = 0

/**
 * Resource amounts as vectors of doubles, one place for each resource that somebody offers, and one for all others together: of those nobody has any, so
 * it does not matter which they are, and pods that ask for thousands cost nothing. The unit of a resource is the largest of 1, 1/1,000, 1/1,000,000 and
 * 1e-9 in which all its amounts are whole, so that sums and comparisons are exact up to 2^53 units. Every amount is learned before the first vector of a
 * pass is made: what is offered before what is asked for.
 */
export class Amounts {
  readonly names: string[] = ['']
  readonly #index = new Map<string, number>()
  readonly #units: bigint[] = [1n]
  #version = 0

  /** Another number: vectors that were made before mean something else now. */
  get version(): number {
    return this.#version
  }

  get size(): number {
    return this.names.length
  }

  /** Learns amounts that somebody has or may have. */
  offered(resources: Resources): void {
    for (const name in resources) {
      if (this.#index.has(name)) continue
      this.#index.set(name, this.names.length)
      this.names.push(name)
      this.#units.push(1_000_000_000n)
      this.#version += 1
    }
    this.asked(resources)
  }

  /** Learns amounts that somebody wants. */
  asked(resources: Resources): void {
    for (const name in resources) {
      const at = this.#index.get(name)
      if (at === undefined) continue
      const { nano } = resources[name] as Quantity
      while (nano % (this.#units[at] as bigint) !== 0n) {
        this.#units[at] = (this.#units[at] as bigint) / 1000n
        this.#version += 1
      }
    }
  }

  /** Where a resource stands in the vectors; -1: nobody ever offered any. */
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
      const at = this.#index.get(name)
      const { nano } = resources[name] as Quantity
      if (at !== undefined) vector[at] = Number(nano / (this.#units[at] as bigint))
      else if (nano > 0n) vector[lacking] = 1
    }
    return vector
  }
}
