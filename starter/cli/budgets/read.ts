import { decodeNode, decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { readPauses } from '../../../activities/kubernetes/pauses/pauses.ts'
import { readPools } from '../doctor/context.ts'
import { kubeconfig } from '../shared/kubeconfig.ts'
import type { ReadCluster } from './report.ts'

/** NodePools of AKS, nodes and pauses as they are now. Errors: what the API server says. */
export async function readCluster(namespace: string, now: number): Promise<ReadCluster> {
  const client = await KubernetesClient.load(kubeconfig())
  try {
    const [{ nodePools }, nodes, nodeClaims, pauses] = await Promise.all([
      readPools(client),
      client.list('/api/v1/nodes'),
      client.list('/apis/karpenter.sh/v1/nodeclaims'),
      readPauses({ client, namespace }, now),
    ])
    return {
      nodePools,
      nodes: nodes.items.map((item) => decodeNode(item)),
      nodeClaims: nodeClaims.items.map((item) => decodeNodeClaim(item)),
      pauses,
    }
  } finally {
    await client.close()
  }
}
