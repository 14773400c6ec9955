import type { KubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import type { NodeClass } from '../../../core/objects.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { DnsZone, DnsZones } from '../node-config/node-dns.ts'
import type { LinuxOs } from '../node-config/node-os.ts'

/** What of an AKSNodeClass decides instance types and VMs, with defaults applied. */
export interface NodeClassSettings {
  readonly name: string
  readonly imageFamily: 'Ubuntu' | 'Ubuntu2204' | 'Ubuntu2404' | 'AzureLinux'
  readonly osSku: string
  readonly osDiskSizeGb: number
  readonly maxPods: number
  readonly subnetId: string
  readonly fips: boolean
  /** Undefined: nothing is said of it, to Azure neither. */
  readonly encryptionAtHost: boolean | undefined
  readonly trustedLaunch: boolean
  readonly vtpm: boolean
  readonly secureBoot: boolean
  readonly gpuDriver: boolean
  readonly artifactStreaming: boolean
  readonly localDnsEnabled: boolean
  readonly localDnsZones: DnsZones
  readonly linuxOs: LinuxOs | undefined
  readonly tags: Readonly<Record<string, string>>
  /** Of the node class; empty where `v1beta1Kubelet` is there. */
  readonly kubelet: Readonly<Record<string, unknown>>
  /** What a NodePool of v1beta1 says of kubelet. */
  readonly v1beta1Kubelet: KubeletConversion | undefined
}

interface SpecJson {
  readonly vnetSubnetID?: string
  readonly osDiskSizeGB?: number
  readonly imageFamily?: NodeClassSettings['imageFamily']
  readonly fipsMode?: string
  readonly tags?: Record<string, string>
  readonly kubelet?: Record<string, unknown>
  readonly maxPods?: number
  readonly security?: {
    readonly encryptionAtHost?: boolean
    readonly trustedLaunch?: { readonly vtpm?: boolean; readonly secureBoot?: boolean }
  }
  readonly localDNS?: {
    readonly mode?: string
    readonly vnetDNSOverrides?: readonly DnsZone[]
    readonly kubeDNSOverrides?: readonly DnsZone[]
  }
  readonly linuxOSConfig?: LinuxOs
  readonly gpu?: { readonly mode?: string }
  readonly artifactStreaming?: { readonly enabled?: boolean }
}

/**
 * Reads a node class. The CRD's schema has checked the values. Kubelet settings that a NodePool has from v1beta1 replace those of the class,
 * all of them, as in Karpenter 1.0; what they do not say of pods stays a matter of the class.
 */
export function nodeClassSettings(
  nodeClass: NodeClass,
  config: AzureConfig,
  v1beta1Kubelet?: KubeletConversion,
): NodeClassSettings {
  const spec = nodeClass.spec as SpecJson
  const imageFamily = spec.imageFamily ?? 'Ubuntu'
  return {
    name: nodeClass.metadata.name,
    imageFamily,
    osSku: imageFamily.startsWith('Ubuntu') ? 'Ubuntu' : imageFamily,
    osDiskSizeGb: spec.osDiskSizeGB ?? 128,
    maxPods: v1beta1Kubelet?.maxPods ?? maxPodsOf(config.networkPlugin, config.networkPluginMode, spec.maxPods),
    subnetId: spec.vnetSubnetID ?? config.subnetId,
    fips: spec.fipsMode === 'FIPS',
    encryptionAtHost: spec.security?.encryptionAtHost,
    ...trustedLaunchOf(spec),
    gpuDriver: (spec.gpu?.mode ?? 'Driver') === 'Driver',
    artifactStreaming: spec.artifactStreaming?.enabled ?? false,
    ...localDnsOf(spec, nodeClass.status),
    linuxOs: spec.linuxOSConfig,
    tags: spec.tags ?? {},
    kubelet: v1beta1Kubelet === undefined ? (spec.kubelet ?? {}) : {},
    v1beta1Kubelet,
  }
}

function trustedLaunchOf({ security }: SpecJson): Pick<NodeClassSettings, 'trustedLaunch' | 'vtpm' | 'secureBoot'> {
  const { vtpm = false, secureBoot = false } = security?.trustedLaunch ?? {}
  return { trustedLaunch: vtpm || secureBoot, vtpm, secureBoot }
}

function localDnsOf(
  { localDNS }: SpecJson,
  { localDnsState }: NodeClass['status'],
): Pick<NodeClassSettings, 'localDnsEnabled' | 'localDnsZones'> {
  const { mode, vnetDNSOverrides = [], kubeDNSOverrides = [] } = localDNS ?? {}
  return {
    localDnsEnabled: mode === 'Required' || (mode === 'Preferred' && localDnsState === 'Enabled'),
    localDnsZones: { vnet: vnetDNSOverrides, kube: kubeDNSOverrides },
  }
}

/** How many pods a node takes: what the node class says, else AKS' own number for the network plugin (reference/azure-provider.md 3.4). */
export function maxPodsOf(networkPlugin: string, networkPluginMode: string, ofNodeClass?: number): number {
  if (ofNodeClass !== undefined) return ofNodeClass
  if (networkPlugin === 'none') return 250
  if (networkPlugin === 'azure' && networkPluginMode === 'overlay') return 250
  return networkPlugin === 'azure' && networkPluginMode === '' ? 30 : 110
}
