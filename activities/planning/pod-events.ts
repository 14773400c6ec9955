import type { Pod } from '../../core/objects.ts'
import { isDaemonPod, isTerminal, isTerminating } from '../../core/pod-rules.ts'
import { isConflict, isNotFound } from '../kubernetes/client.ts'
import type { KubernetesDeps } from '../kubernetes/dependencies.ts'
import { resourcePath } from '../kubernetes/resources.ts'

/** Several events of one node within this time are one write (reference/karpenter-core.md 4.4). */
const dedupeMs = 10_000

/**
 * Keeps `status.lastPodEventTime` of NodeClaims: when a pod was last bound to the node, ended or began to end. consolidateAfter counts from it.
 * Returns the function that ends it.
 */
export function trackPodEvents(deps: KubernetesDeps): () => void {
  const pending = new Set<string>()
  return deps.cache.onChange((kind, _key, before, after) => {
    if (kind !== 'Pod') return
    const nodeName = eventNode(before as Pod | undefined, after as Pod | undefined)
    const node = nodeName === undefined ? undefined : deps.cache.nodes.get(nodeName)
    const [claim] =
      node?.providerId === undefined ? [] : deps.cache.nodeClaims.by('byProviderId', node.providerId.toLowerCase())
    if (claim === undefined || pending.has(claim.metadata.uid) || claim.metadata.deletionTimestamp !== undefined) return
    const now = deps.now()
    if (now - Date.parse(claim.status.lastPodEventTime ?? '1970-01-01T00:00:00Z') < dedupeMs) return
    pending.add(claim.metadata.uid)
    const { name, uid } = claim.metadata
    // Nobody else writes this field, so no lock is needed; the UID keeps it from a namesake.
    deps.client
      .patchStatus(resourcePath('nodeclaims', name), {
        metadata: { uid },
        status: { lastPodEventTime: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z') },
      })
      .then((json) => deps.cache.upsert('NodeClaim', json))
      .catch((error: unknown) => {
        if (isNotFound(error) || isConflict(error)) return
        deps.log.warn({ nodeClaim: name, err: error }, 'status.lastPodEventTime could not be written')
      })
      .finally(() => pending.delete(uid))
  })
}

/** The node of a pod that was just bound, ended, began to end or is gone. */
function eventNode(before: Pod | undefined, after: Pod | undefined): string | undefined {
  const pod = after ?? before
  if (pod?.nodeName === undefined || isDaemonPod(pod)) return undefined
  if (after === undefined)
    return before !== undefined && !isTerminal(before) && !isTerminating(before) ? pod.nodeName : undefined
  const bound = before !== undefined && before.nodeName === undefined
  const ended = before !== undefined && isTerminal(after) && !isTerminal(before)
  const ending = before !== undefined && isTerminating(after) && !isTerminating(before)
  return bound || ended || ending ? pod.nodeName : undefined
}
