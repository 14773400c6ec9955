import type { Pod } from '../../../core/objects.ts'
import { decodePod } from '../cache/decode-pod.ts'
import { perCache } from '../cache/per-cache.ts'
import type { Parts } from '../parts.ts'

export type LivePodsDeps = Pick<Parts, 'client' | 'cache' | 'now'>

/** When the pods of Nodes were read, by name, in epoch ms. */
const looksOf = perCache(() => new Map<string, number>())

/** For how long a look is remembered: the step that follows one begins at once, or looks for itself. */
const rememberedMs = 10_000

/** Reads the pods of a node from the API server. They enter the cache. */
export async function livePodsOn(deps: LivePodsDeps, nodeName: string): Promise<readonly Pod[]> {
  const at = deps.now()
  const { items } = await deps.client.list('/api/v1/pods', { fieldSelector: `spec.nodeName=${nodeName}` })
  for (const item of items) deps.cache.upsert('Pod', item)
  const looks = looksOf(deps)
  for (const [name, ms] of looks) if (at - ms > rememberedMs) looks.delete(name)
  looks.set(nodeName, at)
  return items.map(decodePod)
}

/** Returns when this process last read the pods of a node, in epoch ms: the cache has had all that were bound until then. Undefined: not just now. */
export function lastLookAt(deps: Pick<LivePodsDeps, 'cache' | 'now'>, nodeName: string): number | undefined {
  const at = looksOf(deps).get(nodeName)
  return at === undefined || deps.now() - at > rememberedMs ? undefined : at
}
