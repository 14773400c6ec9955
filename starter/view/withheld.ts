import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { readConfigMap } from '../../activities/kubernetes/client/config-map.ts'
import { parseWithheld, type WithheldMachines, withheldMapName } from '../../api/withheld-machines.ts'

/** Returns the machines that the last pass of garbage collection kept since pods run there. Errors: the API server's. */
export async function readWithheld(client: KubernetesClient, namespace: string): Promise<WithheldMachines> {
  return parseWithheld((await readConfigMap(client, { name: withheldMapName, namespace })) ?? {})
}
