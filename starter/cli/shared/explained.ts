import { defined } from '../../../core/values/defined.ts'
import { note } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { unanswered } from '../../picture/missing.ts'
import { type NodePicture, readNode } from '../../picture/node-picture.ts'
import { withCluster } from '../access/cluster.ts'
import type { ClusterOptions } from './options.ts'

/** What is known of a node; undefined: its NodeClaim is gone, or the cause cannot be read, which is reported. */
export async function explained(
  name: string,
  options: ClusterOptions & { readonly clusterName?: string },
  now: number,
): Promise<NodePicture | undefined> {
  const { joinerNamespace: namespace, clusterName: cluster } = options
  try {
    return await withCluster(options, (client) => readNode(name, { client, namespace, now, ...defined({ cluster }) }))
  } catch (error) {
    note(`the cause is not known: ${error instanceof CommandError ? error.message : unanswered(error)}`)
    return undefined
  }
}
