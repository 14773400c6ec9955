import type { Pod } from '../../objects.ts'
import { podCost } from '../pod-cost.ts'
import type { Waiting } from './waiting-pods.ts'

/** Outcome of an attempt for a pod: `stopped` when its time ended first. */
export type Placement = 'placed' | 'refused' | 'stopped'

export interface HeavyPods {
  /** Pods for which there was no time. */
  readonly postponed: readonly Pod[]
  /** A pod for which all of the time was not enough. */
  readonly tooHeavy: Waiting | undefined
}

/**
 * Places pods with many constraints, those with the fewest first, each once, while there is time. All others are placed before, so these constraints
 * do not delay them.
 */
export function placeHeavy(
  heavy: readonly Waiting[],
  mayGoOn: () => boolean,
  place: (one: Waiting) => Placement,
): HeavyPods {
  const inOrder = [...heavy].sort((a, b) => podCost(a.pod) - podCost(b.pod))
  for (const [at, one] of inOrder.entries()) {
    if (mayGoOn() && place(one) !== 'stopped') continue
    const isFirst = at === 0
    // A pod that had all of the time can never have more.
    return {
      postponed: inOrder.slice(isFirst ? 1 : at).map(({ pod }) => pod),
      tooHeavy: isFirst ? one : undefined,
    }
  }
  return { postponed: [], tooHeavy: undefined }
}

export const noHeavyPods: HeavyPods = { postponed: [], tooHeavy: undefined }
