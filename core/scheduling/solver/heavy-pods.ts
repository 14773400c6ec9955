import type { Pod } from '../../objects.ts'
import { podCost } from '../pod-cost.ts'
import type { Waiting } from './waiting-pods.ts'

/** What becomes of a pod that is tried: `stopped` when its time was over before that was known. */
export type Placement = 'placed' | 'refused' | 'stopped'

export interface HeavyPods {
  /** Pods for which there was no time. */
  readonly postponed: readonly Pod[]
  /** A pod for which all of the time was not enough. */
  readonly tooHeavy: Waiting | undefined
}

/**
 * Places pods with many constraints, those with the fewest first, each once, as long as there is time. All others have been placed before, so that none
 * of them is held up by what these pods state.
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
    // A pod that had all of the time will never have more.
    return {
      postponed: inOrder.slice(isFirst ? 1 : at).map(({ pod }) => pod),
      tooHeavy: isFirst ? one : undefined,
    }
  }
  return { postponed: [], tooHeavy: undefined }
}

export const noHeavyPods: HeavyPods = { postponed: [], tooHeavy: undefined }
