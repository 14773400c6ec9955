import type { NodeClass } from '../../../api/objects.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { Finding } from './finding.ts'
import { resolveImageFamily } from './images.ts'
import { compareVersions } from './kubernetes-version.ts'
import type { LocalDnsClusterDeps } from './local-dns-cluster.ts'
import { clusterForbidsLocalDns } from './local-dns-cluster.ts'
import { nodeClassSettings } from './node-class-settings.ts'

export interface LocalDnsDeps extends LocalDnsClusterDeps {
  readonly config: AzureConfig
}

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
