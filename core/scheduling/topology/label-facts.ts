import type { Pod } from '../../objects.ts'
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
