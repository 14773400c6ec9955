import { decodeNode, decodeNodeClaim, decodeNodePool } from '../../../activities/kubernetes/cache/decode.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { readPauses } from '../../../activities/kubernetes/pauses/pauses.ts'
import { withCluster } from '../access/cluster.ts'
import type { ClusterOptions } from '../shared/options.ts'
import type { ReadCluster } from './report.ts'

/** NodePools of AKS, nodes and pauses as they are now. Errors: what the API server says. */
export function readCluster(options: ClusterOptions, now: number): Promise<ReadCluster> {
  return withCluster(options, (client) => readClusterWith(client, options.namespace, now))
}

/** Does it with a client at hand. `namespace`: Joiner's. */
export async function readClusterWith(client: KubernetesClient, namespace: string, now: number): Promise<ReadCluster> {
  const [nodePools, nodes, nodeClaims, pauses] = await Promise.all([
    client.list('/apis/karpenter.sh/v1/nodepools'),
    client.list('/api/v1/nodes'),
    client.list('/apis/karpenter.sh/v1/nodeclaims'),
    readPauses({ client, namespace }, now),
  ])
  return {
    nodePools: nodePools.items
      .map((item) => decodeNodePool(item))
      .filter(({ template }) => template.spec.nodeClassRef.kind === 'AKSNodeClass'),
    nodes: nodes.items.map((item) => decodeNode(item)),
    nodeClaims: nodeClaims.items.map((item) => decodeNodeClaim(item)),
    pauses,
  }
}
