import { createHash } from 'node:crypto'
import type { Pod } from '../../core/objects.ts'
import { textOf } from '../../core/scheduling/solver/pod-texts.ts'

const known = new WeakMap<Pod, string>()

/**
 * Returns the same short text for pods that the scheduler treats alike: same namespace, labels, constraints, requests and volume claims. Replicas of
 * one controller share it as long as their template does not change; status, name and age do not matter.
 */
export function podFingerprint(pod: Pod): string {
  let fingerprint = known.get(pod)
  if (fingerprint === undefined) {
    const { shape, requests } = textOf(pod)
    const parts = [shape, requests, ...pod.persistentVolumeClaims, '', ...pod.resourceClaims]
    fingerprint = createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16)
    known.set(pod, fingerprint)
  }
  return fingerprint
}
