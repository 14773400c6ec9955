import type { Resources } from '../../resources.ts'
import type { Quantity } from '../../values/quantity.ts'

/** Index in the vectors for requests of resources that no type offers. */
const lacking = 0

/**
 * Resource amounts as vectors of doubles, with one index for each offered resource and one for all others together. No type has any of the others, so
 * their names do not matter, and pods that request thousands cost nothing. A resource's unit is the largest of 1, 1/1,000, 1/1,000,000 and 1e-9 in
 * which all its amounts are whole. So sums and comparisons are exact up to 2^53 units. Every amount is learned before the first vector of a pass is
 * made: offers before requests.
 */
export class Amounts {
  readonly names: string[] = ['']
  readonly #index = new Map<string, number>()
  readonly #units: bigint[] = [1n]
  #version = 0

  /** Changes when vectors made before become invalid. */
  get version(): number {
    return this.#version
  }

  get size(): number {
    return this.names.length
  }

  /** Learns amounts that are or may be offered. */
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

  /** Learns amounts that are requested. */
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

  /** Returns a resource's index in the vectors; -1 when it was never offered. */
  indexOf(name: string): number {
    return this.#index.get(name) ?? -1
  }

  /** Returns one of a resource in its unit. */
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
