import type { SchedulableNode } from '../snapshot.ts'
import type { NodePlace } from './places.ts'
import type { Candidates } from './pod-facts.ts'
import type { Facet, RequestClass } from './pod-shapes.ts'
import { filling } from './snapshot-index.ts'
import type { SolverBase } from './solver-base.ts'

/** The nodes as a pass finds and fills them: those that it does not touch are the base's own. */
export class PassNodes {
  readonly #base: SolverBase
  /** By their numbers in the base. */
  readonly #removed: ReadonlySet<number>
  readonly #filled = new Map<number, NodePlace>()
  /** 1 where a node takes no pods to which some are barred. */
  readonly #barred: Uint8Array | undefined
  /** By candidates, how many of the first of them refuse for good. */
  readonly #passed = new Map<Candidates, number>()

  constructor(base: SolverBase, removed: readonly SchedulableNode[], closed: ReadonlySet<string> | undefined) {
    this.#base = base
    this.#removed = new Set(removed.map((node) => base.numberOf(node)))
    this.#barred = closed && base.named(closed)
  }

  /** Those that have received pods, in the order in which they are tried. */
  get filled(): readonly NodePlace[] {
    return [...this.#filled].sort(([a], [b]) => a - b).map(([, place]) => place)
  }

  /** Hosts of those that are there. */
  get hosts(): readonly number[] {
    return this.#base.nodes.filter((_, number) => !this.#removed.has(number)).map(({ host }) => host)
  }

  /** The node as it is now; undefined: it is no place, or none for this pod. */
  placeFor(number: number, isBarred: boolean): NodePlace | undefined {
    if (this.#removed.has(number) || (isBarred && this.#barred?.[number] === 1)) return undefined
    return this.#filled.get(number) ?? this.#base.nodes[number]
  }

  /** The node's own place in this pass, from now on. */
  fill(number: number, own: number): NodePlace {
    const place = filling(this.#base.nodes[number] as NodePlace, own)
    this.#filled.set(number, place)
    return place
  }

  /** Where to begin among candidates: those before are removed, or have refused for good what they are candidates for. */
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
