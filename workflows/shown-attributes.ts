import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow'
import { type SearchAttributeName, searchAttributes } from './search-attributes.ts'

/** The search attributes of a lifecycle, which change with its phase. */
export class ShownAttributes {
  readonly #waiting = new Map<SearchAttributeName, string>()

  /** Keeps values until the next phase is entered; other keys are ignored. */
  learn(values: object): void {
    for (const [name, value] of Object.entries(values))
      if (name in searchAttributes && typeof value === 'string') this.#waiting.set(name as SearchAttributeName, value)
  }

  /** Upserts what changed, in one event. A lifecycle that began without attributes is in a namespace that has none, where an upsert would fail. */
  publish(): void {
    const known = workflowInfo().typedSearchAttributes
    if (known.get(searchAttributes.nodePhase) === undefined) return
    const changed = [...this.#waiting]
      .map(([name, value]) => ({ key: searchAttributes[name], value }))
      .filter(({ key, value }) => known.get(key) !== value)
    this.#waiting.clear()
    if (changed.length > 0) upsertSearchAttributes(changed)
  }
}
