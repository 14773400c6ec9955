import { nodeClassSpec } from '../../../api/node-class.ts'
import type { NodeClass, NodeClassSpec } from '../../../api/objects.ts'
import { withDefaults } from '../../../api/served.ts'
import type { KubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import type { AzureConfig } from '../azure-config.ts'

/** What of an AKSNodeClass decides instance types and VMs. */
export interface NodeClassSettings {
  readonly name: string
  /** As the schema has it, with its defaults. What needs more than a look at it stands beside it. */
  readonly spec: NodeClassSpec
  readonly imageFamily: NodeClassSpec['imageFamily']
  readonly osSku: string
  readonly maxPods: number
  readonly subnetId: string
  readonly fips: boolean
  readonly trustedLaunch: boolean
  readonly gpuDriver: boolean
  readonly artifactStreaming: boolean
  readonly localDnsEnabled: boolean
  /** Of the node class; empty where `v1beta1Kubelet` is there. */
  readonly kubelet: KubeletSettings
  /** What a NodePool of v1beta1 says of kubelet. */
  readonly v1beta1Kubelet: KubeletConversion | undefined
}

/** `spec.kubelet` of a node class, none of which may be there. */
export type KubeletSettings = Partial<NonNullable<NodeClassSpec['kubelet']>>

/**
 * Returns what a node class decides. The CRD's schema has checked the values. Kubelet settings that a NodePool has from v1beta1 replace those of the class,
 * all of them, as in Karpenter 1.0; what they do not say of pods stays a matter of the class.
 */
export function nodeClassSettings(
  nodeClass: NodeClass,
  config: AzureConfig,
  v1beta1Kubelet?: KubeletConversion,
): NodeClassSettings {
  const spec = withDefaults(nodeClassSpec, nodeClass.spec)
  const { imageFamily } = spec
  const isPreferredAndOn = spec.localDNS?.mode === 'Preferred' && nodeClass.status.localDnsState === 'Enabled'
  const { vtpm = false, secureBoot = false } = spec.security?.trustedLaunch ?? {}
  return {
    name: nodeClass.metadata.name,
    spec,
    imageFamily,
    osSku: imageFamily.startsWith('Ubuntu') ? 'Ubuntu' : imageFamily,
    maxPods: v1beta1Kubelet?.maxPods ?? maxPodsOf(config.networkPlugin, config.networkPluginMode, spec.maxPods),
    subnetId: spec.vnetSubnetID ?? config.subnetId,
    fips: spec.fipsMode === 'FIPS',
    trustedLaunch: vtpm || secureBoot,
    gpuDriver: spec.gpu?.mode !== 'None',
    artifactStreaming: spec.artifactStreaming?.enabled ?? false,
    localDnsEnabled: spec.localDNS?.mode === 'Required' || isPreferredAndOn,
    kubelet: v1beta1Kubelet === undefined ? (spec.kubelet ?? {}) : {},
    v1beta1Kubelet,
  }
}

/** How many pods a node takes: what the node class says, else AKS' own number for the network plugin (reference/azure-provider.md 3.4). */
export function maxPodsOf(networkPlugin: string, networkPluginMode: string, ofNodeClass?: number): number {
  if (ofNodeClass !== undefined) return ofNodeClass
  if (networkPlugin === 'none') return 250
  if (networkPlugin === 'azure' && networkPluginMode === 'overlay') return 250
  return networkPlugin === 'azure' && networkPluginMode === '' ? 30 : 110
}
