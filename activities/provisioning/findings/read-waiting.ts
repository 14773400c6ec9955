import { parseWaiting, type StoredWaiting } from '../../../api/waiting-pods.ts'
import { waitingMapName } from '../../../core/scheduling/explain/waiting-classes.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { readConfigMap } from '../../kubernetes/client/config-map.ts'

/**
 * Returns what planners have found about waiting pods, with the time of the last write; nothing where there is no ConfigMap, or nothing in it that
 * can be read. Errors: the API server's.
 */
export async function readWaiting(client: KubernetesClient, namespace: string): Promise<StoredWaiting> {
  return parseWaiting((await readConfigMap(client, { name: waitingMapName, namespace })) ?? {})
}
