import { createHash } from 'node:crypto'
import type { Pod } from '../../core/objects.ts'
import { textOf } from '../../core/scheduling/solver/pod-texts.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { keyOf } from '../kubernetes/cache/object-key.ts'

/** Labels in which pods of one controller, or of successive ones, differ; those of its node's place a pod gets when it is bound. */
const ownLabels =
  /^((batch|apps|statefulset)\.kubernetes\.io\/|topology\.kubernetes\.io\/(region|zone)$|controller-uid$|job-name$|spark-exec-id$)/

const known = new WeakMap<Pod, string>()

/**
 * Returns the same short text for pods that the scheduler treats alike: same namespace, labels, constraints, requests and volume claims. Replicas of
 * one controller share it as long as their template does not change; status, name and age do not matter.
 */
export function podFingerprint(pod: Pod): string {
  let fingerprint = known.get(pod)
  if (fingerprint === undefined) {
    const { shape, requests } = textOf(pod)
    fingerprint = hashOf([shape, requests, ...pod.persistentVolumeClaims, '', ...pod.resourceClaims])
    known.set(pod, fingerprint)
  }
  return fingerprint
}

const classes = new WeakMap<Pod, string>()

/**
 * Returns the same short text for pods that a node takes or refuses alike: as `podFingerprint`, but replicas with volumes and an identity of their
 * own share it as well, and it stays the same when volumes are bound.
 */
export function podClass({ persistentVolumeClaims }: Pick<ClusterCache, 'persistentVolumeClaims'>, pod: Pod): string {
  let found = classes.get(pod)
  if (found === undefined) {
    const { metadata, persistentVolumeClaims: names, resourceClaims } = pod
    const labels = Object.fromEntries(
      Object.entries(metadata.labels).filter(([key, value]) => !ownLabels.test(key) && value !== metadata.name),
    )
    const { shape, requests } = textOf({ ...pod, metadata: { ...metadata, labels } })
    const claims = names.map((name) => persistentVolumeClaims.get(keyOf({ ...metadata, name })))
    const stores = claims.map((claim) => claim?.storageClassName ?? '').sort()
    found = hashOf([shape, requests, ...stores, '', String(resourceClaims.length)])
    // A claim that is not there yet may come before the pod changes.
    if (!claims.includes(undefined)) classes.set(pod, found)
  }
  return found
}

function hashOf(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16)
}
