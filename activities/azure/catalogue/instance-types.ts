import type { InstanceType, Offering } from '../../../core/instance-type.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { inValues, type Requirement } from '../../../core/requirements/requirement.ts'
import type { Requirements } from '../../../core/requirements/requirements.ts'
import type { Resources } from '../../../core/resources.ts'
import { integerQuantity, quantity } from '../../../core/values/quantity.ts'
import type { OfferingId } from '../capacity/mark.ts'
import type { NodeClassSettings } from '../node-class/node-class-settings.ts'
import { type GpuSize, hasInstallableDriver } from './gpu-sizes.ts'
import { memoryWithoutOverhead, overheadOf } from './node-overhead.ts'
import { type Prices, unknownPrice } from './pricing.ts'
import type { VmSize } from './sku.ts'
import { placementScope, regionalZone, zoneLabel } from './zones.ts'

/** Settings that go into every type. */
interface TypeSetting {
  readonly region: string
  readonly nodeClass: NodeClassSettings
  readonly memoryOverheadPercent: number
  readonly nodeResourceGroup: string
  /** Whether sizes of families that are not in `tested-families.ts` cost what the price list says. Unset: they cost as if they had no price. */
  readonly allowsUntested?: boolean
  /** Whether the node class names capacity reservation groups. Then every offering says of which reservation it is, or that it is of none. */
  readonly hasReservations?: boolean
}

/** A capacity reservation on sale. */
export interface ReservedPlace {
  readonly id: string
  readonly zone: string
  readonly free: number
  readonly available: boolean
}

/** Sizes, prices and availability at present. */
export interface Sale {
  readonly sizes: Iterable<VmSize>
  readonly prices: Prices
  readonly isMarked: (offering: OfferingId) => boolean
  /** Returns whether the quota of a family leaves room for so many vCPUs, on demand. */
  readonly hasQuota: (family: string, vCpus: number) => boolean
  /** The same for spot, whose quota has no families. Unset: there is room, as upstream assumes. */
  readonly hasSpotQuota?: (family: string, vCpus: number) => boolean
  /** Capacity reservations by the size's name in lower case. */
  readonly reserved?: ReadonlyMap<string, readonly ReservedPlace[]>
}

/** Returns the instance types that a node class can use, with their offerings (reference/azure-provider.md 2.1, 3.3-3.6). */
export function instanceTypes(input: TypeSetting & Sale): readonly InstanceType[] {
  return new InstanceTypeLists(input).list(input)
}

/** One way to buy a size, whether it is available or not. */
interface Place {
  readonly id: OfferingId & { readonly capacityType: CapacityType }
  readonly requirements: Requirements
}

/** Facts of a size for a node class that do not depend on offerings. */
interface Facts {
  readonly places: readonly Place[]
  readonly requirements: readonly Requirement[]
  readonly capacity: Resources
  readonly overhead: InstanceType['overhead']
  readonly attachments: Pick<InstanceType, 'volumeAttachmentLimits'>
  /** The type as the last list had it. */
  last?: InstanceType
}

/**
 * The successive lists of one node class. A size without changes keeps its type as the same object: lists are rebuilt
 * at each refusal, and of thousands of offerings a refusal concerns a few.
 */
export class InstanceTypeLists {
  readonly #setting: TypeSetting
  readonly #pool = new RequirementPool()
  readonly #places = new Map<string, Requirements>()
  readonly #facts = new WeakMap<VmSize, Facts>()

  constructor(setting: TypeSetting) {
    this.#setting = setting
  }

  list(sale: Sale): readonly InstanceType[] {
    const types: InstanceType[] = []
    for (const size of sale.sizes)
      if (refusedByNodeClass(size, this.#setting.nodeClass) === undefined) types.push(this.#type(size, sale))
    return types
  }

  #type(size: VmSize, { prices, isMarked, hasQuota, hasSpotQuota, reserved }: Sale): InstanceType {
    const facts = this.#factsOf(size)
    const isSold = {
      'on-demand': hasQuota(size.family, size.vCpus),
      spot: size.spotCapable && hasSpotQuota?.(size.family, size.vCpus) !== false,
    }
    const isTrusted = this.#setting.allowsUntested === true || isTestedFamily(size.family)
    const priceOf = (type: CapacityType) => (isTrusted ? prices.priceOf(size, type) : unknownPrice)
    const price = { 'on-demand': priceOf('on-demand'), spot: priceOf('spot') }
    const bought = facts.places.map(({ id, requirements }): Offering => {
      const available = isSold[id.capacityType] && !isMarked(id)
      return { price: price[id.capacityType], available, requirements }
    })
    const paidFor = (reserved?.get(size.name.toLowerCase()) ?? []).map(
      ({ id, zone, free, available }): Offering => ({
        price: price['on-demand'] / paidForDivisor,
        available,
        requirements: this.#reservedRequirements(zone, id),
        reservationCapacity: free,
      }),
    )
    const offerings = [...paidFor, ...bought]
    const { last } = facts
    if (last !== undefined && isSame(offerings, last.offerings)) return last
    facts.last = {
      name: size.name,
      requirements: new Map([...facts.requirements, ...this.#offered(offerings)].map((set) => [set.key, set])),
      offerings,
      capacity: facts.capacity,
      overhead: facts.overhead,
      ...facts.attachments,
    }
    return facts.last
  }

  #factsOf(size: VmSize): Facts {
    let facts = this.#facts.get(size)
    if (facts === undefined) {
      const { nodeClass, memoryOverheadPercent } = this.#setting
      const capacity = capacityOf(size, nodeClass, memoryOverheadPercent)
      facts = {
        places: this.#placesOf(size),
        requirements: fixedRequirements(size, this.#setting).map(([key, values]) => this.#pool.set(key, values)),
        capacity,
        overhead: overheadOf(size, capacity, nodeClass.v1beta1Kubelet),
        attachments: attachmentsOf(size),
      }
      this.#facts.set(size, facts)
    }
    return facts
  }

  #placesOf(size: VmSize): readonly Place[] {
    const { name: instanceType, family, vCpus } = size
    const zones = [
      ...size.zones.map((zone) => ({
        zone: zoneLabel(this.#setting.region, zone),
        ultra: size.ultraSsdZones.has(zone),
      })),
      { zone: regionalZone, ultra: size.ultraSsdRegional },
    ]
    return zones.flatMap(({ zone, ultra }) =>
      capacityTypes.map((capacityType) => ({
        id: { instanceType, family, vCpus, zone, capacityType },
        requirements: this.#placeRequirements(zone, capacityType, ultra),
      })),
    )
  }

  #placeRequirements(zone: string, capacityType: CapacityType, ultra: boolean): Requirements {
    const name = `${zone}/${capacityType}/${ultra}`
    let sets = this.#places.get(name)
    if (sets === undefined) {
      const priority = capacityType === 'spot' ? 'spot' : 'regular'
      sets = this.#pool.sets([
        [labels.capacityType, [capacityType]],
        ['kubernetes.azure.com/scalesetpriority', [priority]],
        ['kubernetes.azure.com/priority', [priority]],
        [labels.zone, [zone]],
        [placementScopeKey, [placementScope(zone)]],
        [ultraSsdKey, ultra ? ['true', 'false'] : ['false']],
        ...(this.#setting.hasReservations === true ? [[labels.reservationId, []] as const] : []),
      ])
      this.#places.set(name, sets)
    }
    return sets
  }

  /** VMs of a reservation have no ultra disks (docs/capacity-reservations.md). */
  #reservedRequirements(zone: string, id: string): Requirements {
    const name = `reserved/${id}`
    let sets = this.#places.get(name)
    if (sets === undefined) {
      sets = this.#pool.sets([
        [labels.capacityType, ['reserved']],
        ['kubernetes.azure.com/scalesetpriority', ['regular']],
        ['kubernetes.azure.com/priority', ['regular']],
        [labels.zone, [zone]],
        [placementScopeKey, [placementScope(zone)]],
        [ultraSsdKey, ['false']],
        [labels.reservationId, [id]],
      ])
      this.#places.set(name, sets)
    }
    return sets
  }

  /** Returns requirements of available offerings only, such as zones and capacity types. */
  #offered(offerings: readonly Offering[]): readonly Requirement[] {
    const available = new Set(offerings.filter((o) => o.available).map((o) => o.requirements))
    return [labels.zone, labels.capacityType, placementScopeKey, ultraSsdKey, labels.reservationId].map((key) => {
      const values = [...available].flatMap((requirements) => [...(requirements.get(key)?.values ?? [])])
      return this.#pool.set(key, [...new Set(values)])
    })
  }
}

/** A node's OS disk is no data disk, and Joiner gives its VMs none, so pods may have all that the size takes. */
function attachmentsOf({ dataDisks }: VmSize): Pick<InstanceType, 'volumeAttachmentLimits'> {
  return dataDisks === undefined ? {} : { volumeAttachmentLimits: { 'disk.csi.azure.com': dataDisks } }
}

/** A reservation is paid for, used or not: it costs next to nothing more, and the order of prices stays (reference/karpenter-core.md 3.12). */
const paidForDivisor = 10_000_000

const capacityTypes = ['on-demand', 'spot'] as const
type CapacityType = (typeof capacityTypes)[number]
const placementScopeKey = 'karpenter.azure.com/placement-scope'
const ultraSsdKey = 'karpenter.azure.com/sku-storage-ultra-ssd'

function isSame(a: readonly Offering[], b: readonly Offering[]): boolean {
  const isAsBefore = (offering: Offering, before: Offering | undefined) =>
    offering.available === before?.available &&
    offering.price === before.price &&
    offering.requirements === before.requirements &&
    offering.reservationCapacity === before.reservationCapacity
  return a.length === b.length && a.every((offering, at) => isAsBefore(offering, b[at]))
}

/** Returns why a node class cannot use a size; undefined when it can (reference/azure-provider.md 3.3). */
export function refusedByNodeClass(size: VmSize, nodeClass: NodeClassSettings): string | undefined {
  if (nodeClass.spec.security?.encryptionAtHost && !size.encryptionAtHost) return 'no encryption at host'
  if (nodeClass.trustedLaunch && !(size.trustedLaunch && size.hyperVGenerations.includes('2')))
    return 'no trusted launch'
  if (size.gpu !== undefined && nodeClass.gpuDriver && !hasInstallableDriver(size.gpu))
    return 'the driver of its GPU is not installed by gpu.mode Driver'
  if (size.gpu !== undefined && !runsOn(size.gpu, nodeClass)) return `no GPU driver on ${nodeClass.imageFamily}`
  if (nodeClass.artifactStreaming && size.arch === 'arm64') return 'no artifact streaming on arm64'
  if (nodeClass.localDnsEnabled && (size.vCpus < 4 || size.memoryGib * 1024 < 244)) return 'too small for localDNS'
  return undefined
}

/** Returns whether the image family has an image with the GPU's driver. */
function runsOn({ images }: GpuSize, { osSku }: NodeClassSettings): boolean {
  return images.some((image) => (osSku === 'Ubuntu' ? image === 'Ubuntu' : image !== 'Ubuntu'))
}

/** Returns a size's labels, except those that depend on offerings. */
function fixedRequirements(
  size: VmSize,
  { region, nodeClass, nodeResourceGroup }: TypeSetting,
): readonly (readonly [key: string, values: readonly string[]])[] {
  const memoryMib = String(Math.trunc(size.memoryGib * 1024))
  const cpus = String(size.vCpus)
  return [
    [labels.instanceType, [size.name]],
    ['karpenter.azure.com/sku-name', [size.name]],
    [labels.arch, [size.arch]],
    [labels.os, ['linux']],
    [labels.region, [region]],
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
      size.ephemeralOsMaxGb === undefined ? [] : [String(size.ephemeralOsMaxGb)],
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
  ]
}

/** Returns the node resource group as a label value (2.1). It may hold letters of any alphabet; a label holds fewer. */
export function clusterLabel(nodeResourceGroup: string): string {
  const cut = nodeResourceGroup.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 63)
  return /[-_.]$/.test(cut) ? `${cut.slice(0, 62)}z` : cut
}

function capacityOf(size: VmSize, nodeClass: NodeClassSettings, overheadPercent: number): Resources {
  const bytes = memoryWithoutOverhead(size.memoryGib, overheadPercent)
  return {
    cpu: integerQuantity(size.vCpus),
    memory: { nano: BigInt(bytes) * 1_000_000_000n, format: 'BinarySI' },
    'ephemeral-storage': quantity(`${nodeClass.spec.osDiskSizeGB}G`),
    pods: integerQuantity(podsOf(size, nodeClass)),
    'nvidia.com/gpu': integerQuantity(size.gpu?.vendor === 'nvidia' ? size.gpus : 0),
    'amd.com/gpu': integerQuantity(size.gpu?.vendor === 'amd' ? size.gpus : 0),
  }
}

/** Returns the number of pods. `podsPerCore` of a v1beta1 template lowers it; 0 sets no limit, as for kubelet. */
function podsOf({ vCpus }: VmSize, { maxPods, v1beta1Kubelet }: NodeClassSettings): number {
  const perCore = v1beta1Kubelet?.podsPerCore ?? 0
  return perCore === 0 ? maxPods : Math.min(maxPods, perCore * vCpus)
}

/**
 * Requirements that many instance types share, each made once: a region has hundreds of types with thousands of offerings. Shared requirements
 * need neither be kept nor sent to the scheduler's thread for each of them.
 */
class RequirementPool {
  readonly #byKey = new Map<string, Map<string, Requirement>>()

  set(key: string, values: readonly string[]): Requirement {
    let sets = this.#byKey.get(key)
    if (sets === undefined) {
      sets = new Map()
      this.#byKey.set(key, sets)
    }
    const text = values.length === 1 ? (values[0] as string) : values.join('\n')
    let set = sets.get(text)
    if (set === undefined) {
      set = inValues(key, values)
      sets.set(text, set)
    }
    return set
  }

  sets(entries: readonly (readonly [key: string, values: readonly string[]])[]): Requirements {
    return new Map(entries.map(([key, values]) => [key, this.set(key, values)]))
  }
}

// Families of VM sizes that are known to work as AKS nodes. To add one, write its name as `testedFamilyName` gives it.

const names: ReadonlySet<string> = new Set(
  `
  av2 basv2 bpsv2 bs bsv2 d dadsv5 dadsv7 dadv6 daldsv7 daldv6 dalsv7 dalv6 dasv4 dasv5 dasv7 dav4 dav6 dcaccv5 dcadccv5 dcadsv5 dcadsv6
  dcasv5 dcasv6 dcedv5 dcedv6 dcev5 dcev6 dcsv2 dcsv3 ddcsv3 ddsv4 ddsv5 ddsv6 ddsv7 ddv4 ddv5 dldsv5 dldsv6 dldsv7 dlsv5 dlsv6 dlsv7 dndv6
  dnldv6 dnlv6 dnv6 dpdsv5 dpdsv6 dpldsv5 dpldsv6 dplsv5 dplsv6 dpsv5 dpsv6 ds dsv2 dsv2promo dsv3 dsv4 dsv5 dsv6 dsv7 dv2 dv2promo dv3 dv4
  dv5 eadsv5 eadsv7 eadv6 easv4 easv5 easv7 eav4 eav6 ebdsv5 ebsv5 ecaccv5 ecadccv5 ecadsv5 ecadsv6 ecasv5 ecasv6 ecedv5 ecedv6 ecev5 ecev6
  eciadsv5 eciasv5 eciedv5 eciev5 edsv4 edsv5 edsv6 edsv7 edv4 edv5 eiadsv5 eiasv4 eiasv5 eibdsv5 eibsv5 eidsv5 eidv5 eisv5 eiv5 endv6 env6
  epdsv5 epdsv6 epsv5 epsv6 esv3 esv4 esv5 esv6 esv7 ev3 ev4 ev5 f fadsv7 faldsv7 falsv6 falsv7 famdsv7 famsv6 famsv7 fasv6 fasv7 fs fsv2
  fxmdsv2 fxmdvs fxmsv2 g gs hbrsv2 hbv3 hbv4 hbv5 hcs hx laosv4 lasv3 lasv4 ls lsv2 lsv3 lsv4 mbdsmediummemoryv3 mbsmediummemoryv3
  mdshighmemoryv3 mdsmediummemoryv2 mdsmediummemoryv3 midshighmemoryv3 midsmediummemoryv2 mishighmemoryv3 mismediummemoryv2 ms mshighmemoryv3
  msmediummemoryv2 msmediummemoryv3 msv2 ncadsa100v4 ncadsa10v4 ncadsh100v5 ncasv3_t4 nccads2023 ncdsrtxpro6000bsev6xl ncsv3 ndamsv4_a100
  ndasv4_a100 ndisrgb200v6ndr ndisrgb300v6 ndisrh200v5 ndisv5mi300x ndsh100v5 ndsv2 ngadsv620v1 nps nvadsa10v5 nvadsv710v5 nvsv2 nvsv3 nvsv4
  pbs xeidsv4 xeisv4
`
    .trim()
    .split(/\s+/),
)

/** Returns the name of a quota family as the list has it: `standardDSv5Family` is `dsv5`. */
export function testedFamilyName(family: string): string {
  return family
    .toLowerCase()
    .replaceAll(' ', '')
    .replace(/^standard/, '')
    .replace(/family$/, '')
}

/** Whether sizes of a quota family are known to work as AKS nodes. A size whose family is not known counts as tested. */
export function isTestedFamily(family: string): boolean {
  return family === '' || names.has(testedFamilyName(family))
}
