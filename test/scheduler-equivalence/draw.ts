import { Random } from '../../bench/workloads/random.ts'

/** Chance, with the words that generators need. The same seed gives the same sequence. */
export class Draw extends Random {
  /** Some of a list, in its order; perhaps none. */
  some<T>(list: readonly T[], share = 0.5): readonly T[] {
    return list.filter(() => this.chance(share))
  }

  /** At least one of a list. */
  someOf<T>(list: readonly T[], share = 0.5): readonly T[] {
    const found = this.some(list, share)
    return found.length > 0 ? found : [this.pick(list)]
  }

  /** The thing made with this chance, else nothing: to be spread into a list. */
  maybe<T>(share: number, make: () => T): readonly T[] {
    return this.chance(share) ? [make()] : []
  }

  /** The fields made with this chance, else none: to be spread into an object. */
  fields<T extends object>(share: number, make: () => T): Partial<T> {
    return this.chance(share) ? make() : {}
  }

  many<T>(least: number, most: number, make: (index: number) => T): readonly T[] {
    return Array.from({ length: this.between(least, most) }, (_, index) => make(index))
  }
}
