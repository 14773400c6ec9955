import { isNotFound } from '../../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'

export interface LocalDnsClusterDeps {
  readonly client: KubernetesClient
}

/** Policies of the network plugins, which may forbid the traffic of a node-local DNS server. */
const policyPaths = [
  '/apis/cilium.io/v2/ciliumnetworkpolicies',
  '/apis/cilium.io/v2/ciliumclusterwidenetworkpolicies',
  '/apis/crd.projectcalico.org/v1/networkpolicies',
  '/apis/crd.projectcalico.org/v1/globalnetworkpolicies',
] as const

/**
 * Returns whether something in the cluster prevents node-local DNS: a DaemonSet that does it already, or, where policies are enforced, any
 * policy besides AKS' own (reference/azure-provider.md 1.6). Errors: the API server's.
 */
export async function clusterForbidsLocalDns({ client }: LocalDnsClusterDeps, networkPolicy: string): Promise<boolean> {
  if (await exists(client, resourcePath('daemonsets', 'node-local-dns', 'kube-system'))) return true
  if (networkPolicy !== 'cilium' && networkPolicy !== 'calico') return false
  const { items } = await client.list('/apis/networking.k8s.io/v1/networkpolicies', { limit: 2 })
  const isAksOwn = ({ metadata }: { readonly metadata?: { readonly namespace?: string; readonly name?: string } }) =>
    metadata?.namespace === 'kube-system' && metadata.name === 'konnectivity-agent'
  if (items.some((policy) => !isAksOwn(policy))) return true
  for (const path of policyPaths) if (await hasAny(client, path)) return true
  return false
}

async function exists(client: LocalDnsClusterDeps['client'], path: string): Promise<boolean> {
  try {
    await client.get(path)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Returns whether there are objects at a path. A kind that the cluster does not know has none. */
async function hasAny(client: LocalDnsClusterDeps['client'], path: string): Promise<boolean> {
  try {
    return (await client.list(path, { limit: 1 })).items.length > 0
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
