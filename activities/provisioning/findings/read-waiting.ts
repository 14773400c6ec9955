import { parseWaiting, type StoredWaiting } from '../../../api/waiting-pods.ts'
import { waitingMapName } from '../../../core/scheduling/explain/waiting-classes.ts'
import { type KeptSource, readConfigMap } from '../../kubernetes/client/config-map.ts'

/**
 * Returns what planners have found about waiting pods, with the time of the last write; nothing where there is no ConfigMap, or nothing in it that
 * can be read. Errors: the API server's.
 */
export async function readWaiting({ client, namespace, note }: KeptSource): Promise<StoredWaiting> {
  const { waiting, faults } = parseWaiting((await readConfigMap(client, { name: waitingMapName, namespace })) ?? {})
  note?.(waitingMapName, faults)
  return waiting
}
