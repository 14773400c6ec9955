import type { NodeClass } from '../../../core/objects.ts'
import type { Finding } from './finding.ts'

/**
 * Whether new nodes answer DNS queries themselves. Preferred leaves it to AKS, which turns it on for clusters from Kubernetes 1.99 on, so for
 * none. Once it is on it stays on: nodes of one class must not differ because something in the cluster changed
 * (reference/azure-provider.md 1.6).
 */
export function localDnsState({ spec, status }: Pick<NodeClass, 'spec' | 'status'>): 'Enabled' | 'Disabled' {
  const { mode } = (spec['localDNS'] ?? {}) as { readonly mode?: string }
  if (mode === 'Required') return 'Enabled'
  return mode === 'Preferred' && status.localDnsState === 'Enabled' ? 'Enabled' : 'Disabled'
}

/** The state and its condition. */
export function localDnsFinding(nodeClass: NodeClass): Finding {
  return {
    conditions: [{ type: 'LocalDNSReady', status: 'True' }],
    status: { localDnsState: localDnsState(nodeClass) },
  }
}
