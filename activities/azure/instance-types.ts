import { capacityTypeOf, type InstanceType, type Offering, zoneOf } from '../../core/instance-type.ts'
import { labels } from '../../core/labels.ts'
import { integerQuantity, quantity } from '../../core/quantity.ts'
import { inValues, type Requirement } from '../../core/requirement.ts'
import type { Requirements } from '../../core/requirements.ts'
import type { Resources } from '../../core/resources.ts'
import { type GpuSize, hasInstallableDriver } from './gpu-sizes.ts'
import type { NodeClassSettings } from './node-class-settings.ts'
import { memoryWithoutOverhead, overheadOf } from './node-overhead.ts'
import type { Prices } from './pricing.ts'
import type { VmSize } from './sku.ts'
import { placementScope, regionalZone, zoneLabel } from './zones.ts'

export interface InstanceTypeInput {
  readonly sizes: Iterable<VmSize>
  readonly region: string
  readonly nodeClass: NodeClassSettings
  readonly prices: Prices
  readonly isMarked: (offering: {
    readonly instanceType: string
    readonly family: string
    readonly vCpus: number
    readonly zone: string
    readonly capacityType: string
  }) => boolean
  /** Whether the quota of a family leaves room for so many vCPUs, on demand. */
  readonly hasQuota: (family: string, vCpus: number) => boolean
  readonly memoryOverheadPercent: number
  readonly nodeResourceGroup: string
}

/**
 * The instance types that a node class can use, with their offerings (reference/azure-provider.md 2.1, 3.3-3.6). `earlier`: what the same input
 * gave when other offerings were available; types of which nothing changed since are taken from there, since a refusal changes few and the
 * next launch waits for this.
 */
export function instanceTypes(
  input: InstanceTypeInput,
  earlier: readonly InstanceType[] = [],
): readonly InstanceType[] {
  const known = new Map(earlier.map((type) => [type.name, type]))
  return [...input.sizes]
    .filter((size) => fitsNodeClass(size, input.nodeClass))
    .map((size) => {
      const before = known.get(size.name)
      return before !== undefined && offersTheSame(before, size, input) ? before : instanceType(size, input)
    })
}

function offersTheSame({ offerings }: InstanceType, size: VmSize, input: InstanceTypeInput): boolean {
  return offerings.every(
    (offering) => offering.available === isAvailable(size, zoneOf(offering), capacityTypeOf(offering), input),
  )
}

function isAvailable(
  { name, family, vCpus, spotCapable }: VmSize,
  zone: string,
  capacityType: string,
  { isMarked, hasQuota }: InstanceTypeInput,
): boolean {
  if (isMarked({ instanceType: name, family, vCpus, zone, capacityType })) return false
  return capacityType === 'spot' ? spotCapable : hasQuota(family, vCpus)
}

function fitsNodeClass(size: VmSize, nodeClass: NodeClassSettings): boolean {
  if (nodeClass.encryptionAtHost && !size.encryptionAtHost) return false
  if (nodeClass.trustedLaunch && !(size.trustedLaunch && size.hyperVGenerations.includes('2'))) return false
  if (size.gpu !== undefined && !runsOn(size.gpu, nodeClass)) return false
  if (nodeClass.artifactStreaming && size.arch === 'arm64') return false
  return !(nodeClass.localDnsEnabled && (size.vCpus < 4 || size.memoryGib * 1024 < 244))
}

/** A GPU size needs an image with its driver; with mode Driver it must be one that the node can install. */
function runsOn(gpu: GpuSize, { gpuDriver, osSku }: NodeClassSettings): boolean {
  if (gpuDriver && !hasInstallableDriver(gpu)) return false
  return gpu.images.some((image) => (osSku === 'Ubuntu' ? image === 'Ubuntu' : image !== 'Ubuntu'))
}

function instanceType(size: VmSize, input: InstanceTypeInput): InstanceType {
  const offerings = offeringsOf(size, input)
  const capacity = capacityOf(size, input.nodeClass, input.memoryOverheadPercent)
  return {
    name: size.name,
    requirements: typeRequirements(size, offerings, input),
    offerings,
    capacity,
    overhead: overheadOf(size, capacity, input.nodeClass.v1beta1Kubelet),
  }
}

function offeringsOf(size: VmSize, input: InstanceTypeInput): readonly Offering[] {
  const { region, prices } = input
  const zones = [
    ...size.zones.map((zone) => ({ zone: zoneLabel(region, zone), ultra: size.ultraSsdZones.has(zone) })),
    { zone: regionalZone, ultra: size.ultraSsdRegional },
  ]
  return zones.flatMap(({ zone, ultra }) =>
    (['on-demand', 'spot'] as const).map((capacityType) => {
      const priority = capacityType === 'spot' ? 'spot' : 'regular'
      return {
        price: prices.priceOf(size, capacityType),
        available: isAvailable(size, zone, capacityType, input),
        requirements: sets([
          [labels.capacityType, [capacityType]],
          ['kubernetes.azure.com/scalesetpriority', [priority]],
          ['kubernetes.azure.com/priority', [priority]],
          [labels.zone, [zone]],
          ['karpenter.azure.com/placement-scope', [placementScope(zone)]],
          ['karpenter.azure.com/sku-storage-ultra-ssd', ultra ? ['true', 'false'] : ['false']],
        ]),
      }
    }),
  )
}

/** Zones, capacity types and the like are those of available offerings only. */
function typeRequirements(
  size: VmSize,
  offerings: readonly Offering[],
  { region, nodeClass, nodeResourceGroup }: InstanceTypeInput,
): Requirements {
  const offered = (key: string) => [
    ...new Set(offerings.filter((o) => o.available).flatMap((o) => [...(o.requirements.get(key)?.values ?? [])])),
  ]
  const memoryMib = String(Math.trunc(size.memoryGib * 1024))
  const cpus = String(size.vCpus)
  return sets([
    [labels.instanceType, [size.name]],
    ['karpenter.azure.com/sku-name', [size.name]],
    [labels.arch, [size.arch]],
    [labels.os, ['linux']],
    [labels.zone, offered(labels.zone)],
    [labels.region, [region]],
    [labels.capacityType, offered(labels.capacityType)],
    ['karpenter.azure.com/placement-scope', offered('karpenter.azure.com/placement-scope')],
    ['karpenter.azure.com/sku-storage-ultra-ssd', offered('karpenter.azure.com/sku-storage-ultra-ssd')],
    ['karpenter.azure.com/sku-family', [size.seriesFamily]],
    ['karpenter.azure.com/sku-series', [size.series]],
    ['karpenter.azure.com/sku-version', [size.version]],
    ['karpenter.azure.com/sku-cpu', [cpus]],
    ['kubernetes.azure.com/sku-cpu', [cpus]],
    ['karpenter.azure.com/sku-memory', [memoryMib]],
    ['kubernetes.azure.com/sku-memory', [memoryMib]],
    ['karpenter.azure.com/sku-networking-accelerated', [String(size.acceleratedNetworking)]],
    ['karpenter.azure.com/sku-storage-premium-capable', [String(size.premiumStorage)]],
    [
      'karpenter.azure.com/sku-storage-ephemeralos-maxsize',
      size.ephemeralOsDisk ? [String(size.ephemeralOsDisk.gb)] : [],
    ],
    ['karpenter.azure.com/sku-gpu-count', [String(size.gpus)]],
    ['karpenter.azure.com/sku-gpu-manufacturer', size.gpu ? [size.gpu.vendor] : []],
    ['karpenter.azure.com/sku-gpu-name', size.gpuName ? [size.gpuName] : []],
    ['karpenter.azure.com/sku-hyperv-generation', size.hyperVGenerations],
    ['kubernetes.azure.com/cluster', [clusterLabel(nodeResourceGroup)]],
    ['kubernetes.azure.com/mode', ['system', 'user']],
    ['kubernetes.azure.com/scalesetpriority', ['regular', 'spot']],
    ['kubernetes.azure.com/priority', ['regular', 'spot']],
    ['kubernetes.azure.com/os-sku', [nodeClass.osSku]],
    ['kubernetes.azure.com/fips_enabled', nodeClass.fips ? ['true'] : []],
  ])
}

function sets(entries: readonly (readonly [string, readonly string[]])[]): Requirements {
  return new Map(entries.map(([key, values]): [string, Requirement] => [key, inValues(key, values)]))
}

/** The node resource group as a label value (2.1). */
export function clusterLabel(nodeResourceGroup: string): string {
  const cut = nodeResourceGroup.replace(/[()]/g, '-').slice(0, 63)
  return /[-_.]$/.test(cut) ? `${cut.slice(0, -1)}z` : cut
}

function capacityOf(size: VmSize, nodeClass: NodeClassSettings, overheadPercent: number): Resources {
  const bytes = memoryWithoutOverhead(size.memoryGib, overheadPercent)
  return {
    cpu: integerQuantity(size.vCpus),
    memory: { nano: BigInt(bytes) * 1_000_000_000n, format: 'BinarySI' },
    'ephemeral-storage': quantity(`${nodeClass.osDiskSizeGb}G`),
    pods: integerQuantity(podsOf(size, nodeClass)),
    'nvidia.com/gpu': integerQuantity(size.gpu?.vendor === 'nvidia' ? size.gpus : 0),
    'amd.com/gpu': integerQuantity(size.gpu?.vendor === 'amd' ? size.gpus : 0),
  }
}

/** `podsPerCore` of a v1beta1 template lowers the number; 0 sets no limit, as for kubelet. */
function podsOf({ vCpus }: VmSize, { maxPods, v1beta1Kubelet }: NodeClassSettings): number {
  const perCore = v1beta1Kubelet?.podsPerCore ?? 0
  return perCore === 0 ? maxPods : Math.min(maxPods, perCore * vCpus)
}
