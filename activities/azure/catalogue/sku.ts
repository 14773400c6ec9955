import type { ResourceSku, ResourceSkuZoneDetails } from '@azure/arm-compute'
import { type GpuSize, gpuSize } from './gpu-sizes.ts'
import { type LocalDisks, localDisksOf } from './os-disk.ts'
import { generationOf, isConfidential, isUnfit, parseVmSizeName, seriesOf, type VmSizeName } from './vm-size-name.ts'

/** A VM size as Joiner uses it: the facts of a resource SKU in one region, parsed once. */
export interface VmSize extends LocalDisks {
  readonly name: string
  readonly family: string
  readonly series: string
  /** The letter of its family, such as `D`. */
  readonly seriesFamily: string
  readonly version: string
  readonly vCpus: number
  readonly memoryGib: number
  readonly arch: 'amd64' | 'arm64'
  readonly gpus: number
  readonly gpu?: GpuSize
  readonly gpuName?: string
  readonly hyperVGenerations: readonly string[]
  readonly acceleratedNetworking: boolean
  readonly premiumStorage: boolean
  readonly encryptionAtHost: boolean
  readonly trustedLaunch: boolean
  readonly spotCapable: boolean
  readonly ultraSsdZones: ReadonlySet<string>
  readonly ultraSsdRegional: boolean
  /** How many data disks a VM of this size takes; unset where Azure does not say. */
  readonly dataDisks?: number
  /** Zone numbers without restricted ones; empty where the size is regional only. */
  readonly zones: readonly string[]
}

export type SkuResult =
  | { readonly kind: 'size'; readonly size: VmSize }
  | { readonly kind: 'excluded'; readonly reason: string }

/** Reads one SKU of a region's list. A size that AKS nodes cannot use is excluded with the reason (reference/azure-provider.md 3.2). */
export function parseSku(sku: ResourceSku, region: string): SkuResult {
  const { name = '', resourceType } = sku
  if (resourceType !== 'virtualMachines') return { kind: 'excluded', reason: 'not a virtual machine' }
  const parts = parseVmSizeName(name)
  const capabilities = new Map((sku.capabilities ?? []).map((entry) => [entry.name ?? '', entry.value ?? '']))
  const reason = isUnfit(name)
    ? 'not fit for an AKS node'
    : parts === undefined
      ? 'size name not understood'
      : (refusedInRegion(sku, region) ?? refusedSize(name, parts, capabilities))
  if (parts === undefined || reason !== undefined) return { kind: 'excluded', reason: reason ?? '' }
  return { kind: 'size', size: { ...sizeOf(sku, parts, capabilities), zones: availableZones(sku, region) } }
}

type Capabilities = ReadonlyMap<string, string>

/** Returns a capability's number, or 0 where it is none. */
function amount(capabilities: Capabilities, key: string): number {
  const value = Number(capabilities.get(key) ?? 0)
  return Number.isFinite(value) ? value : 0
}

/** Limits beyond any machine; a larger number is a mistake. */
export const [mostVCpus, mostGib] = [100_000, 1_000_000]

function refusedSize(name: string, parts: VmSizeName, capabilities: Capabilities): string | undefined {
  const [vCpus, memoryGib, gpus] = ['vCPUs', 'MemoryGB', 'GPUs'].map((key) => amount(capabilities, key)) as [
    number,
    number,
    number,
  ]
  if (vCpus < 2) return 'fewer than 2 vCPUs'
  if (memoryGib < 3.5) return 'less than 3.5 GiB of memory'
  if (!Number.isInteger(vCpus) || !Number.isInteger(gpus) || vCpus > mostVCpus || memoryGib > mostGib)
    return 'vCPUs, memory or GPUs that no machine has'
  if (parts.constrainedVCpus !== undefined) return 'constrained cores'
  if (isConfidential(parts)) return 'confidential size'
  if (gpus > 0 && gpuSize(name) === undefined) return 'GPU size without a driver on AKS images'
  if (!capabilities.get('CpuArchitectureType')) return 'CpuArchitectureType is missing'
  return undefined
}

function sizeOf(sku: ResourceSku, parts: VmSizeName, capabilities: Capabilities): Omit<VmSize, 'zones'> {
  const { name = '', family = '' } = sku
  const number = (key: string) => amount(capabilities, key)
  const yes = (key: string) => capabilities.get(key) === 'True'
  const gpu = gpuSize(name)
  return {
    name,
    family,
    seriesFamily: parts.family,
    series: seriesOf(parts),
    version: generationOf(parts),
    vCpus: number('vCPUs'),
    memoryGib: number('MemoryGB'),
    arch: capabilities.get('CpuArchitectureType') === 'Arm64' ? 'arm64' : 'amd64',
    gpus: gpu === undefined ? 0 : number('GPUs'),
    ...(gpu === undefined ? {} : { gpu }),
    ...(gpu === undefined || parts.accelerator === undefined ? {} : { gpuName: parts.accelerator }),
    hyperVGenerations: (capabilities.get('HyperVGenerations') ?? 'V1')
      .split(',')
      .map((entry) => entry.replace('V', '')),
    acceleratedNetworking: yes('AcceleratedNetworkingEnabled'),
    premiumStorage: yes('PremiumIO'),
    encryptionAtHost: yes('EncryptionAtHostSupported'),
    trustedLaunch: !yes('TrustedLaunchDisabled'),
    spotCapable: yes('LowPriorityCapable'),
    ultraSsdZones: ultraSsdZones(sku),
    ultraSsdRegional: yes('UltraSSDAvailable'),
    ...localDisksOf((key) => capabilities.get(key)),
    ...dataDisksOf(capabilities),
  }
}

/** An absent or unreadable count is no limit: taken as 0, it would keep every pod with a disk from the size. */
function dataDisksOf(capabilities: Capabilities): Pick<VmSize, 'dataDisks'> {
  const text = capabilities.get('MaxDataDiskCount') ?? ''
  return /^\d{1,5}$/.test(text) ? { dataDisks: Number(text) } : {}
}

const sameRegion = (a: string | undefined, b: string) => a?.toLowerCase().replaceAll(' ', '') === b.toLowerCase()

function refusedInRegion(sku: ResourceSku, region: string): string | undefined {
  const restriction = sku.restrictions?.find(
    ({ type, restrictionInfo, values }) =>
      type === 'Location' && (restrictionInfo?.locations ?? values ?? []).some((l) => sameRegion(l, region)),
  )
  if (restriction === undefined) return undefined
  return `not offered to this subscription in the region (${restriction.reasonCode ?? 'no reason given'})`
}

function availableZones(sku: ResourceSku, region: string): readonly string[] {
  const info = sku.locationInfo?.find((entry) => sameRegion(entry.location, region))
  const restricted = new Set(
    (sku.restrictions ?? []).filter((r) => r.type === 'Zone').flatMap((r) => r.restrictionInfo?.zones ?? []),
  )
  return [...(info?.zones ?? [])].filter((zone) => !restricted.has(zone)).sort()
}

function ultraSsdZones(sku: ResourceSku): ReadonlySet<string> {
  const details = sku.locationInfo?.flatMap((info) => info.zoneDetails ?? []) ?? []
  return new Set(
    details
      .filter((detail) =>
        detail.capabilities?.some((entry) => entry.name === 'UltraSSDAvailable' && entry.value === 'True'),
      )
      .flatMap(zonesOfDetail),
  )
}

/** Returns the zones of a detail; some answers of the service spell the list `Name`. */
function zonesOfDetail(detail: ResourceSkuZoneDetails & { readonly Name?: readonly string[] }): readonly string[] {
  return detail.name ?? detail.Name ?? []
}
