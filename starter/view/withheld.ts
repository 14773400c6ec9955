import { type KeptSource, readConfigMap } from '../../activities/kubernetes/client/config-map.ts'
import { parseWithheld, type WithheldMachines, withheldMapName } from '../../api/withheld-machines.ts'

/** Returns the machines that the last pass of garbage collection kept since pods run there. Errors: the API server's. */
export async function readWithheld({ client, namespace, note }: KeptSource): Promise<WithheldMachines> {
  const { found, faults } = parseWithheld((await readConfigMap(client, { name: withheldMapName, namespace })) ?? {})
  note?.(withheldMapName, faults)
  return found
}
