import type { NodeClass } from '../../../core/objects.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { Finding } from './finding.ts'
import { compareVersions } from './kubernetes-version.ts'

/** AKS turns Preferred on for clusters from this version on, which no cluster has: a gate that is shut (reference/azure-provider.md 1.6). */
const preferredFrom = '1.99.0'

/**
 * Whether new nodes answer DNS queries themselves. Preferred leaves it to AKS, and once it is on it stays on: nodes of one class must not
 * differ because something in the cluster changed (reference/azure-provider.md 1.6).
 */
export function localDnsState(
  { spec, status }: Pick<NodeClass, 'spec' | 'status'>,
  kubernetesVersion: string,
  { networkPlugin }: Pick<AzureConfig, 'networkPlugin'>,
): 'Enabled' | 'Disabled' {
  const { mode } = (spec['localDNS'] ?? {}) as { readonly mode?: string }
  if (mode === 'Required') return 'Enabled'
  if (mode !== 'Preferred') return 'Disabled'
  if (status.localDnsState === 'Enabled') return 'Enabled'
  const allowed = networkPlugin !== 'none' && compareVersions(kubernetesVersion, preferredFrom) >= 0
  return allowed ? 'Enabled' : 'Disabled'
}

/** The state and its condition. */
export function localDnsFinding(
  nodeClass: NodeClass,
  kubernetesVersion: string | undefined,
  config: Pick<AzureConfig, 'networkPlugin'>,
): Finding {
  return {
    conditions: [{ type: 'LocalDNSReady', status: 'True' }],
    status: { localDnsState: localDnsState(nodeClass, kubernetesVersion ?? '', config) },
  }
}
