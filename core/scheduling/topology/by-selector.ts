import type { LabelSelector } from '../../objects.ts'

/**
 * Finds selectors for labels, and labels for selectors, without a scan: most selectors name a label with its value. The results are candidates that
 * still need the full check.
 */
export class BySelector<T> {
  readonly #byLabel = new Map<string, T[]>()
  readonly #others: T[] = []

  add(selector: LabelSelector | undefined, one: T): void {
    const asked = labelAsked(selector)
    if (asked === undefined) this.#others.push(one)
    else listOf(this.#byLabel, asked).push(one)
  }

  /** Returns all that may select labels with these pairs. */
  for(pairs: readonly string[]): readonly T[] {
    const found: T[] = []
    for (const pair of pairs) {
      const asking = this.#byLabel.get(pair)
      if (asking !== undefined) found.push(...asking)
    }
    return this.#others.length === 0 ? found : [...found, ...this.#others]
  }
}

/** The inverse index, by labels. */
export class ByLabels<T> {
  readonly #byLabel = new Map<string, T[]>()
  readonly #all: T[] = []

  /** `pairs`: of its labels. */
  add(pairs: readonly string[], one: T): void {
    this.#all.push(one)
    for (const pair of pairs) listOf(this.#byLabel, pair).push(one)
  }

  /** Returns all that the selector may select. */
  for(selector: LabelSelector | undefined): readonly T[] {
    const asked = labelAsked(selector)
    return asked === undefined ? this.#all : (this.#byLabel.get(asked) ?? [])
  }
}

/** Labels as texts of a key and its value. */
export function pairsOf(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map((pair) => pair.join('='))
}

/** Returns a label without which the selector selects nothing. */
function labelAsked(selector: LabelSelector | undefined): string | undefined {
  for (const key in selector?.matchLabels) return `${key}=${selector?.matchLabels[key]}`
  return undefined
}

function listOf<T>(lists: Map<string, T[]>, key: string): T[] {
  let list = lists.get(key)
  if (list === undefined) {
    list = []
    lists.set(key, list)
  }
  return list
}
