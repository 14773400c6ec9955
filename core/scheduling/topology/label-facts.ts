import type { Pod, Taint } from '../../objects.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import { pairsOf } from './by-selector.ts'

/** Namespace and labels that pods share. */
export interface LabelFacts {
  /** The same text for all of them; see `labelKey`. */
  readonly text: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly pairs: readonly string[]
}

/** Returns the labels of pods whose `labelKey` is `text`. */
export function labelFacts(
  text: string,
  { namespace = 'default', labels }: Pick<Pod['metadata'], 'namespace' | 'labels'>,
): LabelFacts {
  return { text, namespace, labels, pairs: pairsOf(labels) }
}

/** A node as topology counts it: by its own labels, whatever a pass changes. */
export interface CountedNode {
  readonly name: string
  readonly set: RequirementSet
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /** Its labels as a place for pods; unset when it is none. */
  readonly placeLabels?: Readonly<Record<string, string>>
  /** Whether the anti-affinity of its pods keeps others away. */
  readonly isTracked: boolean
  readonly pods: readonly Pod[]
  /** Those of its pods that state anti-affinity. */
  readonly repelling: readonly Pod[]
}
