import type { Pod } from '../../objects.ts'
import type { Resources } from '../../resources.ts'
import type { Quantity } from '../../values/quantity.ts'

/** Texts that are equal for pods of one group. */
export interface PodText {
  readonly shape: string
  readonly requests: string
}

/** Most texts to keep: those of former pods are among them. */
const mostTexts = 200_000

/** Texts of running pods, which every pass needs. Equal texts are kept once. */
export class PodTexts {
  readonly #known = new WeakMap<Pod, PodText>()
  readonly #texts = new Map<string, string>()

  of(pod: Pod): PodText {
    const known = this.#known.get(pod)
    if (known !== undefined) return known
    const made = textOf(pod)
    const kept = { shape: this.#kept(made.shape), requests: this.#kept(made.requests) }
    this.#known.set(pod, kept)
    return kept
  }

  #kept(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    if (this.#texts.size >= mostTexts) this.#texts.clear()
    this.#texts.set(text, text)
    return text
  }
}

export function textOf(pod: Pod): PodText {
  return { shape: shapeKey(pod), requests: requestKey(pod.requests) }
}

/** Returns the same text for pods with the same constraints. */
function shapeKey(pod: Pod): string {
  return JSON.stringify([
    pod.metadata.namespace,
    pod.metadata.labels,
    pod.nodeSelector,
    pod.affinity,
    pod.tolerations,
    pod.topologySpreadConstraints,
    pod.hostPorts,
  ])
}

/** Returns the same text for equal requests, whatever their order. */
function requestKey(requests: Resources): string {
  let key = ''
  for (const name of Object.keys(requests).sort()) key += `${name}=${(requests[name] as Quantity).nano};`
  return key
}
