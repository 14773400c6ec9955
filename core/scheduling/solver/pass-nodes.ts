import type { SchedulableNode } from '../snapshot.ts'
import type { NodePlace } from './places.ts'
import type { Candidates } from './pod-facts.ts'
import type { Facet, RequestClass } from './pod-shapes.ts'
import { filling } from './snapshot-index.ts'
import type { SolverBase } from './solver-base.ts'

/** The nodes in a pass: those that it does not change are the base's own. */
export class PassNodes {
  readonly #base: SolverBase
  /** By their numbers in the base. */
  readonly #removed: ReadonlySet<number>
  readonly #filled = new Map<number, NodePlace>()
  /** 1 where a node does not accept pods that are barred from some places. */
  readonly #barred: Uint8Array | undefined
  /** For each list of candidates, the number of leading ones that refuse for good. */
  readonly #passed = new Map<Candidates, number>()

  constructor(base: SolverBase, removed: readonly SchedulableNode[], closed: ReadonlySet<string> | undefined) {
    this.#base = base
    this.#removed = new Set(removed.map((node) => base.numberOf(node)))
    this.#barred = closed && base.named(closed)
  }

  /** Nodes that have received pods, in the order of attempts. */
  get filled(): readonly NodePlace[] {
    return [...this.#filled].sort(([a], [b]) => a - b).map(([, place]) => place)
  }

  /** Hosts of the nodes that are not removed. */
  get hosts(): readonly number[] {
    return this.#base.nodes.filter((_, number) => !this.#removed.has(number)).map(({ host }) => host)
  }

  /** Returns the node's present state; undefined when it is no place, or none for this pod. */
  placeFor(number: number, isBarred: boolean): NodePlace | undefined {
    if (this.#removed.has(number) || (isBarred && this.#barred?.[number] === 1)) return undefined
    return this.#filled.get(number) ?? this.#base.nodes[number]
  }

  /** Returns the node's own place in this pass, from now on. */
  fill(number: number, own: number): NodePlace {
    const place = filling(this.#base.nodes[number] as NodePlace, own)
    this.#filled.set(number, place)
    return place
  }

  /** Returns where to begin among candidates: earlier ones are removed, or have refused for good. */
  firstOf(candidates: Candidates, facet: Facet, requested: RequestClass): number {
    let first = this.#passed.get(candidates) ?? 0
    for (; ; first++) {
      const number = candidates.at(first)
      if (number === undefined) break
      const place = this.#filled.get(number)
      const refuses = place !== undefined && (facet.refused.has(place.number) || requested.refused.has(place.number))
      if (!refuses && !this.#removed.has(number)) break
    }
    this.#passed.set(candidates, first)
    return first
  }
}
