import { nodeClassSpec } from '../../../api/node-class.ts'
import type { NodeClass, NodeClassSpec } from '../../../api/objects.ts'
import { withDefaults } from '../../../api/served.ts'
import type { KubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import type { AzureConfig } from '../azure-config.ts'

/** The settings of an AKSNodeClass that decide instance types and VMs. */
export interface NodeClassSettings {
  readonly name: string
  /** The spec as in the schema, with its defaults. Settings that need more evaluation are beside it. */
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
  /** Kubelet settings of the node class; empty where `v1beta1Kubelet` is set. */
  readonly kubelet: KubeletSettings
  /** Kubelet settings of a NodePool of v1beta1. */
  readonly v1beta1Kubelet: KubeletConversion | undefined
}

/** `spec.kubelet` of a node class, with every field optional. */
export type KubeletSettings = Partial<NonNullable<NodeClassSpec['kubelet']>>

/**
 * Returns the settings of a node class. The CRD's schema has checked the values. Kubelet settings that a NodePool has from v1beta1 replace all
 * of the class' settings, as in Karpenter 1.0; the class decides the number of pods where they do not.
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

/** Returns the most pods of a node: the node class' number, or AKS' own for the network plugin (reference/azure-provider.md 3.4). */
export function maxPodsOf(networkPlugin: string, networkPluginMode: string, ofNodeClass?: number): number {
  if (ofNodeClass !== undefined) return ofNodeClass
  if (networkPlugin === 'none') return 250
  if (networkPlugin === 'azure' && networkPluginMode === 'overlay') return 250
  return networkPlugin === 'azure' && networkPluginMode === '' ? 30 : 110
}
