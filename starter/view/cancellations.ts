import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { readConfigMap } from '../../activities/kubernetes/client/config-map.ts'
import { cancellationsMap, refusedCancellations } from '../../core/node-claim/cancellation.ts'

/** Returns what is to say of lifecycles that were cancelled in Temporal and go on; empty: nothing. Errors: the API server's. */
export async function readRefusedCancellations(
  client: KubernetesClient,
  namespace: string,
  now: number,
): Promise<string> {
  return refusedCancellations((await readConfigMap(client, { name: cancellationsMap, namespace })) ?? {}, now) ?? ''
}
