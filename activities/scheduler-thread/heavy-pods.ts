import type { Pod } from '../../core/objects.ts'
import { isHeavy } from '../../core/scheduling/pod-cost.ts'
import { BackOff } from '../provisioning/back-off.ts'
import { podFingerprint } from './pod-fingerprint.ts'

const longestMs = 10 * 60_000

/** Backs off pods with many constraints that found no place, so that others of their kind get their turn. Times are epoch ms. */
export class HeavyPods {
  #backOff = new BackOff(longestMs)

  /** Records pods that found no place; only those with many constraints wait. */
  failed(pods: readonly Pod[], now: number): void {
    for (const pod of pods) if (isHeavy(pod)) this.#backOff.failed(podFingerprint(pod), now)
  }

  isWaiting(pod: Pod, now: number): boolean {
    return isHeavy(pod) && this.#backOff.isResting(podFingerprint(pod), now)
  }

  /** Lets all pods be tried again, because capacity has changed. */
  clear(): void {
    this.#backOff = new BackOff(longestMs)
  }
}
