import type { InstanceType, Offering } from '../../core/instance-type.ts'
import type { KubeletConversion } from '../../core/kubelet-conversion.ts'
import { labels } from '../../core/labels.ts'
import { integerQuantity, type Quantity, quantity, zero } from '../../core/quantity.ts'
import { inValues, type Requirement } from '../../core/requirement.ts'
import type { Requirements } from '../../core/requirements.ts'
import { maxResources, parseResources, type Resources } from '../../core/resources.ts'
import type { GpuSize } from './gpu-sizes.ts'
import { withoutEmpty } from './kubelet-flags.ts'
import type { NodeClassSettings } from './node-class-settings.ts'
import type { Prices } from './pricing.ts'
import type { VmSize } from './sku.ts'

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

/** The instance types that a node class can use, with their offerings (reference/azure-provider.md 2.1, 3.3-3.6). */
export function instanceTypes(input: InstanceTypeInput): readonly InstanceType[] {
  return [...input.sizes]
    .filter((size) => fitsNodeClass(size, input.nodeClass))
    .map((size) => instanceType(size, input))
}

function fitsNodeClass(size: VmSize, nodeClass: NodeClassSettings): boolean {
  if (nodeClass.encryptionAtHost && !size.encryptionAtHost) return false
  if (nodeClass.trustedLaunch && !(size.trustedLaunch && size.hyperVGenerations.includes('2'))) return false
  if (size.gpu !== undefined && !runsOn(size.gpu, nodeClass)) return false
  if (nodeClass.artifactStreaming && size.arch === 'arm64') return false
  return !(nodeClass.localDnsEnabled && (size.vCpus < 4 || size.memoryGib * 1024 < 244))
}

/** A GPU size needs an image with its driver; with mode Driver it must be one that Joiner's nodes install, NVIDIA's. */
function runsOn({ vendor, images }: GpuSize, { gpuDriver, osSku }: NodeClassSettings): boolean {
  if (gpuDriver && vendor !== 'nvidia') return false
  return images.some((image) => (osSku === 'Ubuntu' ? image === 'Ubuntu' : image !== 'Ubuntu'))
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

function offeringsOf(size: VmSize, { region, prices, isMarked, hasQuota }: InstanceTypeInput): readonly Offering[] {
  const quota = hasQuota(size.family, size.vCpus)
  const zones = [
    ...size.zones.map((zone) => ({ zone: `${region.toLowerCase()}-${zone}`, ultra: size.ultraSsdZones.has(zone) })),
    { zone: '0', ultra: size.ultraSsdRegional },
  ]
  return zones.flatMap(({ zone, ultra }) =>
    (['on-demand', 'spot'] as const).map((capacityType) => {
      const marked = isMarked({ instanceType: size.name, family: size.family, vCpus: size.vCpus, zone, capacityType })
      const priority = capacityType === 'spot' ? 'spot' : 'regular'
      return {
        price: prices.priceOf(size, capacityType),
        available: !marked && (capacityType === 'spot' ? size.spotCapable : quota),
        requirements: sets([
          [labels.capacityType, [capacityType]],
          ['kubernetes.azure.com/scalesetpriority', [priority]],
          ['kubernetes.azure.com/priority', [priority]],
          [labels.zone, [zone]],
          ['karpenter.azure.com/placement-scope', [zone === '0' ? 'regional' : 'zonal']],
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
  const bytes = Math.floor(size.memoryGib) * 2 ** 30
  return {
    cpu: integerQuantity(size.vCpus),
    memory: { nano: BigInt(bytes - Math.ceil(bytes * overheadPercent)) * 1_000_000_000n, format: 'BinarySI' },
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

/** What pods cannot have (reference/azure-provider.md 3.4). What a v1beta1 template says stands for itself, the rest for AKS' own numbers. */
function overheadOf(size: VmSize, capacity: Resources, kubelet: KubeletConversion = {}): InstanceType['overhead'] {
  return {
    kubeReserved: {
      cpu: milliCpu(kubeReservedMilliCpu(size.vCpus)),
      memory: quantity(`${kubeReservedMib(size.memoryGib)}Mi`),
      ...amountsOf(kubelet.kubeReserved),
    },
    systemReserved: amountsOf(kubelet.systemReserved),
    evictionThreshold: evictionThreshold(capacity, kubelet),
  }
}

/** `pid` is a matter of kubelet alone. */
function amountsOf(reserved: Readonly<Record<string, string>> = {}): Resources {
  return parseResources(Object.fromEntries(Object.entries(reserved).filter(([name]) => name !== 'pid')))
}

/** The first threshold that is met evicts, so the highest of hard and soft counts. */
function evictionThreshold(capacity: Resources, { evictionHard, evictionSoft }: KubeletConversion): Resources {
  const hard = { 'memory.available': '750Mi', ...withoutEmpty(evictionHard) }
  return maxResources(...[hard, withoutEmpty(evictionSoft)].map((signals) => thresholdsOf(capacity, signals)))
}

const resourceOfSignal: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
}

function thresholdsOf(capacity: Resources, signals: Readonly<Record<string, string>>): Resources {
  return Object.fromEntries(
    Object.entries(signals).flatMap(([signal, amount]) => {
      const resource = resourceOfSignal[signal]
      return resource === undefined ? [] : [[resource, thresholdAmount(amount, capacity[resource] ?? zero)]]
    }),
  )
}

/** An amount, or a share of what there is, in whole units. */
function thresholdAmount(amount: string, capacity: Quantity): Quantity {
  if (!amount.endsWith('%')) return quantity(amount)
  const nano = (capacity.nano * BigInt(Math.round(Number(amount.slice(0, -1)) * 100))) / 10_000n
  return { nano: nano - (nano % 1_000_000_000n), format: capacity.format }
}

const milliCpu = (milli: number): Quantity => ({ nano: BigInt(milli) * 1_000_000n, format: 'DecimalSI' })

// Shares of the first so many cores or GiB, of the next so many, and so on.
const cpuShares: Brackets = [
  [1, 0.06],
  [1, 0.04],
  [2, 0.02],
  [Number.POSITIVE_INFINITY, 0.01],
]
const memoryShares: Brackets = [
  [4, 0.25],
  [4, 0.2],
  [8, 0.1],
  [112, 0.06],
  [Number.POSITIVE_INFINITY, 0.02],
]

type Brackets = readonly (readonly [amount: number, share: number])[]

/** Floating point as upstream's, so that rounding down gives the same thousandth. */
function reservedOf(total: number, brackets: Brackets): number {
  let left = total
  let reserved = 0
  for (const [amount, share] of brackets) {
    const part = Math.min(left, amount)
    reserved += part * share
    left -= part
  }
  return reserved
}

/** CPU that AKS keeps for the kubelet, in thousandths of a core: a falling share of each further core (reference/azure-provider.md 3.4). */
export function kubeReservedMilliCpu(vCpus: number): number {
  return Math.trunc(reservedOf(vCpus, cpuShares) * 1000)
}

/** Memory that AKS keeps for the kubelet, in MiB: a falling share of the size's own GiB. */
export function kubeReservedMib(memoryGib: number): number {
  return Math.trunc(reservedOf(memoryGib, memoryShares) * 1024)
}
