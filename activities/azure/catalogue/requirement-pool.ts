import { inValues, type Requirement } from '../../../core/requirements/requirement.ts'
import type { Requirements } from '../../../core/requirements/requirements.ts'

/**
 * Requirements that many instance types share, each made once: a region has hundreds of types with thousands of offerings. Shared requirements
 * need neither be kept nor sent to the scheduler's thread for each of them.
 */
export class RequirementPool {
  readonly #byKey = new Map<string, Map<string, Requirement>>()

  /** Returns the set with these values only. */
  set(key: string, values: readonly string[]): Requirement {
    let sets = this.#byKey.get(key)
    if (sets === undefined) {
      sets = new Map()
      this.#byKey.set(key, sets)
    }
    const text = values.length === 1 ? (values[0] as string) : values.join('\n')
    let set = sets.get(text)
    if (set === undefined) {
      set = inValues(key, values)
      sets.set(text, set)
    }
    return set
  }

  sets(entries: readonly (readonly [key: string, values: readonly string[]])[]): Requirements {
    return new Map(entries.map(([key, values]) => [key, this.set(key, values)]))
  }
}
