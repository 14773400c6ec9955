import { formatRefusal, type NodeRefusals, parseRefusals } from '../../../core/node-refusals.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { readConfigMap, writeConfigMap } from '../../kubernetes/client/config-map.ts'

export interface RefusalStoreDeps {
  readonly client: KubernetesClient
  readonly namespace: string
}

const name = 'joiner-node-refusals'

/** Reads the refusals that planners wrote. Errors: the API server's. */
export async function readRefusals({ client, namespace }: RefusalStoreDeps): Promise<NodeRefusals> {
  return parseRefusals(Object.values((await readConfigMap(client, { name, namespace })) ?? {}))
}

/** Writes the refusals of some classes; a class without one is removed. Errors: the API server's. */
export async function writeRefusals(
  { client, namespace }: RefusalStoreDeps,
  all: NodeRefusals,
  classes: Iterable<string>,
): Promise<void> {
  const entries = [...classes].map((podClass) => {
    const one = all.get(podClass)
    return [podClass, one === undefined ? null : formatRefusal(one)] as const
  })
  await writeConfigMap(client, { name, namespace }, Object.fromEntries(entries))
}
