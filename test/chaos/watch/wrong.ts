/** How long a process may take from its last look at pods to what follows from it, while none stands still and no request waits. */
export const actMs = 30_000
/** What a commit has read of budgets and nodes may be so old: its validation waits for slow requests. */
export const staleMs = 120_000

/** Something that must not be. Shorter forms of a plan have to be wrong in the same `kind`. */
export interface Wrong {
  readonly kind: string
  readonly what: string
}

/** All accounts together take some 4 % of what a seed costs: one that has nothing untrue is looked at each so manieth minute. */
export const everyNth = { node: 4, list: 4, status: 8, gap: 8 } as const

/** What is said, and is not so. */
export interface Untruth {
  /** The same for what is the same, where texts hold numbers. Default: `what`. */
  readonly key?: string
  readonly what: string
  /** For how long it may be said, in ms: what is said is behind. */
  readonly mostMs: number
}

/** Since when something has been said of each subject that is not so. */
export class Lasting {
  readonly #since = new Map<string, ReadonlyMap<string, number>>()
  #looks = 0

  /** Those of which something was said at their last looks. */
  get subjects(): readonly string[] {
    return [...this.#since.keys()]
  }

  /** Whether all have to be looked at now: each so manieth time, and each time while something is untrue. Counts the looks. */
  isDue(nth: number): boolean {
    this.#looks += 1
    return this.subjects.length > 0 || this.#looks % nth === 1
  }

  /** Takes all that is untrue of a subject at a look. Returns what has been so at each of its looks for too long. */
  look(subject: string, untrue: readonly Untruth[], nowMs: number): readonly string[] {
    const before = this.#since.get(subject)
    const since = new Map(untrue.map((one) => [keyOf(one), before?.get(keyOf(one)) ?? nowMs]))
    if (since.size === 0) this.#since.delete(subject)
    else this.#since.set(subject, since)
    return untrue.filter((one) => nowMs - (since.get(keyOf(one)) ?? nowMs) >= one.mostMs).map(({ what }) => what)
  }

  /** Forgets all subjects but these. */
  keep(subjects: readonly string[]): void {
    for (const subject of this.subjects) if (!subjects.includes(subject)) this.#since.delete(subject)
  }
}

const keyOf = ({ key, what }: Untruth) => key ?? what
