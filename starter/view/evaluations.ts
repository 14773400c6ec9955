import { type KeptSource, readConfigMap } from '../../activities/kubernetes/client/config-map.ts'
import { parseEvaluations, type StoredEvaluations } from '../../api/disruption-move.ts'
import { verdictMapName } from '../../core/disruption/verdicts/verdict.ts'

/** Returns what evaluations found about the nodes of one ConfigMap, and in the first one the last of them. Errors: the API server's. */
export async function readEvaluations(
  { client, namespace, note }: KeptSource,
  shard: number,
): Promise<StoredEvaluations> {
  const name = verdictMapName(shard)
  const found = parseEvaluations((await readConfigMap(client, { name, namespace })) ?? {})
  note?.(name, found.faults)
  return found
}
