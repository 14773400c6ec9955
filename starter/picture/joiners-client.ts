import { isForbidden, isNotFound } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../activities/kubernetes/client/resources.ts'
import { SourceError } from './missing.ts'

/** Leases that one process holds for as long as it works. */
export const leaderLeases = ['joiner-bridge', 'joiner-planner', 'joiner-maintenance'] as const

/**
 * A client for which a ConfigMap of Joiner's that is not there is empty only where Joiner runs: in another namespace "nothing is paused" would be said of
 * what was never looked at. Who leads keeps a Lease there.
 */
export function joinersClient(client: KubernetesClient, namespace: string): KubernetesClient {
  let found: Promise<void> | undefined
  const own = resourcePath('configmaps', 'joiner-', namespace)
  const settings = resourcePath('configmaps', 'joiner-settings', namespace)
  const get: KubernetesClient['get'] = async (path, ...more) => {
    try {
      return await client.get(path, ...more)
    } catch (error) {
      if (!isNotFound(error) || !path.startsWith(own) || path === settings) throw error
      found ??= requireJoiner(client, namespace)
      await found
      throw error
    }
  }
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = name === 'get' ? get : Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** Errors: no process of Joiner ever led in this namespace, or that cannot be read. */
async function requireJoiner(client: KubernetesClient, namespace: string): Promise<void> {
  const seen = await Promise.all(leaderLeases.map((lease) => isThere(client, resourcePath('leases', lease, namespace))))
  if (seen.includes(true)) return
  throw new SourceError(
    `no process of Joiner has ever run in the namespace "${namespace}": it has no Lease ${leaderLeases.join(', ')}`,
    "name Joiner's namespace by --joiner-namespace or JOINER_NAMESPACE (kubectl get leases -A | grep joiner-)",
  )
}

/** Accounts of Joiner's own processes may read no Lease but their own: for them one that is there and one that is not are alike. */
async function isThere(client: KubernetesClient, path: string): Promise<boolean> {
  try {
    await client.get(path)
    return true
  } catch (error) {
    if (isForbidden(error)) return true
    if (isNotFound(error)) return false
    throw error
  }
}
