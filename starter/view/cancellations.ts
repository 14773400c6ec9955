import { type KeptSource, readConfigMap } from '../../activities/kubernetes/client/config-map.ts'
import { parseCancellations } from '../../api/kept/cancellations.ts'
import { cancellationsMap, refusedCancellations } from '../../core/node-claim/cancellation.ts'

/** Returns what is to say of lifecycles that were cancelled in Temporal and go on; empty: nothing. Errors: the API server's. */
export async function readRefusedCancellations({ client, namespace, note }: KeptSource, now: number): Promise<string> {
  const data = (await readConfigMap(client, { name: cancellationsMap, namespace })) ?? {}
  const { cancellations, faults } = parseCancellations(data)
  note?.(cancellationsMap, faults)
  return refusedCancellations(cancellations, now) ?? ''
}
