import type { Pod } from '../../objects.ts'
import { requestKey, shapeKey } from './pod-shapes.ts'

/** What tells pods apart, as texts. */
export interface PodText {
  readonly shape: string
  readonly requests: string
}

/** More texts than this are not worth remembering: those of pods that are long gone are among them. */
const mostTexts = 200_000

/** Texts of pods that are asked about again and again, since they run. Equal texts are kept once. */
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
