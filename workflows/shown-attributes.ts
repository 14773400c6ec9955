import { patched, upsertSearchAttributes } from '@temporalio/workflow'
import type { Phase } from '../core/node-claim/phase.ts'
import { type SearchAttributeName, searchAttributes } from './search-attributes.ts'

/** Values of search attributes by their names. */
export type AttributeValues = Readonly<Partial<Record<SearchAttributeName, string>>>

/**
 * The search attributes of a lifecycle, which change when its node is ready and when it goes. What it was started with decides what is upserted, and never what the server says: that
 * leaves out of a history what its namespace has lost since, so the history would ask for other code.
 */
export class ShownAttributes {
  readonly #waiting = new Map<SearchAttributeName, string>()
  readonly #shown: Map<SearchAttributeName, string> | undefined

  /** `started`: what the run began with. Undefined: the namespace has no attributes, and an upsert would fail. */
  constructor(started: AttributeValues | undefined) {
    this.#shown = started && new Map(Object.entries(started) as [SearchAttributeName, string][])
  }

  /** Keeps values until the next phase that is shown; other keys are ignored. */
  learn(values: object): void {
    for (const [name, value] of Object.entries(values))
      if (name in searchAttributes && typeof value === 'string') this.#waiting.set(name as SearchAttributeName, value)
  }

  /**
   * Shows a phase, with what was learned before. Lists tell nodes that come, from the start on, nodes that are ready and nodes that go: each upsert is an
   * Action on Temporal Cloud.
   */
  show(phase: Phase): void {
    const isLeaving = phase === 'Draining' || phase === 'Terminating'
    // A restore of etcd has taken its deletion back.
    const isBack = () => this.#shown?.get('nodePhase') === 'Draining' && patched('deletion-taken-back')
    if (isLeaving) this.#publish({ nodePhase: 'Draining' })
    else if (phase === 'Ready') this.#publish({ nodePhase: phase })
    else if (isBack()) this.#publish({ nodePhase: 'Launching' })
  }

  /** Upserts what changed, in one event. */
  #publish(phase: AttributeValues): void {
    this.learn(phase)
    if (this.#shown === undefined) return
    const changed = [...this.#waiting].filter(([name, value]) => this.#shown?.get(name) !== value)
    this.#waiting.clear()
    for (const [name, value] of changed) this.#shown.set(name, value)
    if (changed.length > 0)
      upsertSearchAttributes(changed.map(([name, value]) => ({ key: searchAttributes[name], value })))
  }

  /** What a run that goes on from here begins with. */
  get values(): AttributeValues | undefined {
    return this.#shown && Object.fromEntries(this.#shown)
  }
}
