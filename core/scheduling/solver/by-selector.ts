import type { LabelSelector } from '../../objects.ts'

type Labels = Readonly<Record<string, string>>

/**
 * Finds what may select given labels, and what given selectors may select, without looking at all of them: most selectors ask for a
 * label by its value. What is found still has to be asked.
 */
export class BySelector<T> {
  readonly #byLabel = new Map<string, T[]>()
  readonly #others: T[] = []

  add(selector: LabelSelector | undefined, one: T): void {
    const asked = labelAsked(selector)
    if (asked === undefined) this.#others.push(one)
    else listOf(this.#byLabel, asked).push(one)
  }

  /** All that may select these labels. */
  *for(own: Labels): Iterable<T> {
    for (const key in own) yield* this.#byLabel.get(`${key}=${own[key]}`) ?? []
    yield* this.#others
  }
}

/** The other way round. */
export class ByLabels<T> {
  readonly #byLabel = new Map<string, T[]>()
  readonly #all: T[] = []

  add(own: Labels, one: T): void {
    this.#all.push(one)
    for (const key in own) listOf(this.#byLabel, `${key}=${own[key]}`).push(one)
  }

  /** All that the selector may select. */
  for(selector: LabelSelector | undefined): readonly T[] {
    const asked = labelAsked(selector)
    return asked === undefined ? this.#all : (this.#byLabel.get(asked) ?? [])
  }
}

/** A label without which the selector selects nothing. */
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
