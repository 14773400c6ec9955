import type { Pod } from '../../core/objects.ts'
import { isHeavy } from '../../core/scheduling/pod-cost.ts'
import { BackOff } from '../provisioning/back-off.ts'
import { podFingerprint } from './pod-fingerprint.ts'

const longestMs = 10 * 60_000

/** Pods with many constraints that found no place: they are tried again less and less often, so that others of their kind get their turn. Times are epoch ms. */
export class HeavyPods {
  #backOff = new BackOff(longestMs)

  /** Notes pods that found no place; others than those with many constraints do not wait. */
  failed(pods: readonly Pod[], now: number): void {
    for (const pod of pods) if (isHeavy(pod)) this.#backOff.failed(podFingerprint(pod), now)
  }

  /** Whether a pod has to wait. */
  isWaiting(pod: Pod, now: number): boolean {
    return isHeavy(pod) && this.#backOff.isResting(podFingerprint(pod), now)
  }

  /** Lets all be tried again: what there is to place them on has changed. */
  clear(): void {
    this.#backOff = new BackOff(longestMs)
  }
}
