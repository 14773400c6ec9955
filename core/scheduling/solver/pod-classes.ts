import type { Pod } from '../../objects.ts'
import { podName } from '../../pods/pod-rules.ts'
import type { Resources } from '../../resources.ts'
import type { Amounts } from '../offerings/amounts.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import type { FacetFacts, RequestFacts, ShapeFacts } from './pod-facts.ts'
import { type PodText, type PodTexts, textOf } from './pod-texts.ts'

/** A pod to place, with the facts that it shares with others. */
export interface KnownPod {
  readonly pod: Pod
  readonly shape: ShapeFacts
  readonly requested: RequestFacts
  /** Epoch ms. */
  readonly created: number
  /** Sort key of the order in which pods state their rules: pending ones, those that have to move, virtual ones; then by name. */
  readonly first: string
}

/** Groups pods by equal constraints, requests, and tolerations with requirements. Each pod is examined once. */
export class PodClasses {
  readonly #pods = new Map<Pod, KnownPod>()
  readonly #shapes = new Map<string, ShapeFacts>()
  readonly #requests = new Map<string, RequestFacts & { vector: Float64Array }>()
  readonly #facets = new Map<string, FacetFacts>()
  #amounts: Amounts | undefined

  readonly #texts: PodTexts

  /** `pods`: those known before amounts are. `texts`: of pods that come later. */
  constructor(pods: readonly Pod[], texts: PodTexts) {
    this.#texts = texts
    for (const pod of pods) this.#enter(pod, textOf(pod))
  }

  /** Returns the pods' requests, each amount once. */
  get requested(): Iterable<Resources> {
    return [...this.#requests.values()].map(({ requests }) => requests)
  }

  /** Makes the vectors of the pods' requests, once all amounts are known. */
  measure(amounts: Amounts): void {
    this.#amounts = amounts
    for (const one of this.#requests.values()) one.vector = amounts.vector(one.requests)
  }

  /** Learns unknown amounts that a later pod requests. */
  of(pod: Pod): KnownPod {
    return this.#pods.get(pod) ?? this.#enter(pod, this.#texts.of(pod))
  }

  #enter(pod: Pod, text: PodText): KnownPod {
    const made = {
      pod,
      shape: this.#shape(pod, text.shape),
      requested: this.#requestsOf(pod, text.requests),
      created: Date.parse(pod.metadata.creationTimestamp),
      first: `${pod.buffer !== undefined ? 2 : pod.nodeName === undefined ? 0 : 1}${podName(pod)}`,
    }
    this.#pods.set(pod, made)
    return made
  }

  facet(tolerations: FacetFacts['tolerations'], wanted: RequirementSet): FacetFacts {
    const key = `${wanted.id} ${JSON.stringify(tolerations)}`
    let known = this.#facets.get(key)
    if (known === undefined) {
      known = { tolerations, wanted, tolerated: [], candidates: new Map() }
      this.#facets.set(key, known)
    }
    return known
  }

  #shape(pod: Pod, key: string): ShapeFacts {
    let known = this.#shapes.get(key)
    if (known === undefined) {
      known = { pod, levels: [], complete: false, inverseRules: undefined }
      this.#shapes.set(key, known)
    }
    return known
  }

  #requestsOf({ requests }: Pod, key: string): RequestFacts {
    let known = this.#requests.get(key)
    if (known === undefined) {
      this.#amounts?.asked(requests)
      const vector = this.#amounts?.vector(requests) ?? new Float64Array(0)
      known = { number: this.#requests.size, requests, vector }
      this.#requests.set(key, known)
    }
    return known
  }
}
