import type { Pod } from '../../../core/objects.ts'
import type { ClusterCache } from '../cache/cluster-cache.ts'
import { decodePod } from '../cache/decode-pod.ts'
import type { KubernetesClient } from '../client/client.ts'

export interface LivePodsDeps {
  readonly client: KubernetesClient
  readonly cache: ClusterCache
}

/** Reads the pods of a node from the API server. */
export async function livePodsOn(deps: LivePodsDeps, nodeName: string): Promise<readonly Pod[]> {
  const { items } = await deps.client.list('/api/v1/pods', { fieldSelector: `spec.nodeName=${nodeName}` })
  for (const item of items) deps.cache.upsert('Pod', item)
  return items.map(decodePod)
}
