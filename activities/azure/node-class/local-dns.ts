import type { NodeClass } from '../../../api/objects.ts'
import { getIfAny } from '../../kubernetes/client/answers.ts'
import { expecting, isNotFound } from '../../kubernetes/client/api-error.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { AzureParts } from '../parts.ts'
import type { Finding } from './finding.ts'
import { resolveImageFamily } from './images.ts'
import { compareVersions } from './kubernetes-version.ts'
import { nodeClassSettings } from './node-class-settings.ts'

export type LocalDnsDeps = LocalDnsClusterDeps & Pick<AzureParts, 'config'>

const type = 'LocalDNSReady'

/** Version from which AKS turns Preferred on, so for no cluster today. */
const preferredFrom = '1.99.0'

/** Decision by the spec and the earlier state; `ask`: the cluster decides. */
type Decision = 'Enabled' | 'Disabled' | 'ask'

/**
 * Returns whether new nodes answer DNS queries themselves. Preferred depends on version, network and images; once it is on it stays on:
 * nodes of one class must not differ because something in the cluster changed (reference/azure-provider.md 1.6).
 */
export function localDnsDecision(
  nodeClass: NodeClass,
  config: AzureConfig,
  kubernetesVersion: string | undefined,
): Decision {
  const { spec, status } = nodeClass
  const mode = spec.localDNS?.mode
  if (mode === 'Required') return 'Enabled'
  if (mode !== 'Preferred') return 'Disabled'
  if (status.localDnsState === 'Enabled') return 'Enabled'
  if (kubernetesVersion === undefined || compareVersions(kubernetesVersion, preferredFrom) < 0) return 'Disabled'
  // Ubuntu alone is 20.04, whose images do not support it.
  const isTooOld = resolveImageFamily(nodeClassSettings(nodeClass, config), kubernetesVersion) === 'Ubuntu'
  return config.networkPlugin === 'none' || isTooOld ? 'Disabled' : 'ask'
}

/** Finds the state and its condition. A failed read leaves the state as it is. */
export async function findLocalDns(
  deps: LocalDnsDeps,
  nodeClass: NodeClass,
  kubernetesVersion: string | undefined,
): Promise<Finding> {
  const decision = localDnsDecision(nodeClass, deps.config, kubernetesVersion)
  const ready = { type, status: 'True' } as const
  if (decision !== 'ask') return { conditions: [ready], status: { localDnsState: decision } }
  try {
    const isForbidden = await clusterForbidsLocalDns(deps, deps.config.networkPolicy)
    return { conditions: [ready], status: { localDnsState: isForbidden ? 'Disabled' : 'Enabled' } }
  } catch (error) {
    const message = `AKSNodeClass ${nodeClass.metadata.name}: whether the cluster allows localDNS could not be found out: ${scrubbedMessage(error)}; it is tried again`
    const reason = 'CheckingClusterRequirementsFailed'
    return { conditions: [{ type, status: 'False', reason, message }], error }
  }
}

type LocalDnsClusterDeps = Pick<Parts, 'client'>

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
async function clusterForbidsLocalDns({ client }: LocalDnsClusterDeps, networkPolicy: string): Promise<boolean> {
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
  return (await getIfAny(client, path)) !== undefined
}

/** Returns whether there are objects at a path. A kind that the cluster does not know has none. */
async function hasAny(client: LocalDnsClusterDeps['client'], path: string): Promise<boolean> {
  return client.list(path, { limit: 1 }).then(({ items }) => items.length > 0, expecting(isNotFound, false))
}
