import { untolerated } from '../../taints.ts'
import type { RequirementSets } from '../offerings/requirement-sets.ts'
import type { NodePlace, Place } from './places.ts'
import type { Candidates, FacetFacts, RequestFacts } from './pod-facts.ts'

/**
 * The nodes that do not refuse a pod for good as they are before the pass, by their numbers in the order of attempts. They match its tolerations,
 * requirements and requests. Computed as far as needed.
 */
export class NodeCandidates implements Candidates {
  readonly #found: number[] = []
  #next = 0
  readonly #nodes: readonly NodePlace[]
  readonly #facet: FacetFacts
  readonly #requested: RequestFacts
  readonly #sets: RequirementSets

  constructor(
    { nodes, sets }: { readonly nodes: readonly NodePlace[]; readonly sets: RequirementSets },
    facet: FacetFacts,
    requested: RequestFacts,
  ) {
    this.#nodes = nodes
    this.#facet = facet
    this.#requested = requested
    this.#sets = sets
  }

  at(index: number): number | undefined {
    while (this.#found.length <= index) {
      if (this.#next === this.#nodes.length) return undefined
      if (this.#admits(this.#nodes[this.#next] as NodePlace)) this.#found.push(this.#next)
      this.#next += 1
    }
    return this.#found[index]
  }

  #admits(node: NodePlace): boolean {
    if (node.overused || !fits(this.#requested.vector, node.free)) return false
    if (!toleratesAll(node, this.#facet)) return false
    const { wanted } = this.#facet
    if (node.reported !== undefined && typeof this.#sets.merged(node.reported, wanted, 'strict') === 'string')
      return false
    return this.#sets.merged(node.set, wanted, 'strict') !== 'disjoint'
  }
}

/** Whether a place's taints are tolerated; computed once for each list of taints. */
export function toleratesAll({ taintList, taints }: Place, facet: FacetFacts): boolean {
  facet.tolerated[taintList] ??= untolerated(taints, facet.tolerations).length === 0
  return facet.tolerated[taintList]
}

export function fits(requests: Float64Array, free: Float64Array): boolean {
  for (let at = 0; at < requests.length; at++) if ((requests[at] as number) > (free[at] as number)) return false
  return true
}
