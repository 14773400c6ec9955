import type { ResourceSku } from '@azure/arm-compute'
import { type GpuSize, gpuSize } from './gpu-sizes.ts'

/** A VM size as Joiner uses it: the facts of a resource SKU in one region, parsed once. */
export interface VmSize {
  readonly name: string
  readonly family: string
  readonly series: string
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
  readonly ephemeralOsDisk?: { readonly placement: 'NvmeDisk' | 'CacheDisk' | 'ResourceDisk'; readonly gb: number }
  /** Zone numbers without restricted ones; empty where the size is regional only. */
  readonly zones: readonly string[]
}

export type SkuResult =
  | { readonly kind: 'size'; readonly size: VmSize }
  | { readonly kind: 'excluded'; readonly reason: string }

const neverUsed: ReadonlySet<string> = new Set(
  (
    'Standard_A0 Standard_A1 Standard_A1_v2 Standard_B1s Standard_B1ms Standard_F1 Standard_F1s ' +
    'Basic_A0 Basic_A1 Basic_A2 Basic_A3 Basic_A4 Standard_E64i_v3 Standard_E64is_v3'
  ).split(' '),
)

// Family, sub-family, vCPUs, constrained cores, features, accelerator, version (reference/azure-provider.md 3.2).
const grammar =
  /^(?<family>[A-Z])(?<sub>[A-Z]{0,2}?)(?<cpus>\d+)(?:-(?<constrained>\d+))?(?<features>[abcdefilmnostpPr]*|C+|NP)_?(?:(?:xl_)?(?<accelerator>[A-Z]+\d+[A-Z]*)_?)?(?:_?cc_)?(?:_?\d+_)?(?<version>v[1-9])?(?:_Promo)?$/

/** Reads one SKU of a region's list. A size that AKS nodes cannot use is excluded with the reason. */
export function parseSku(sku: ResourceSku, region: string): SkuResult {
  const name = sku.name ?? ''
  const excluded = (reason: string): SkuResult => ({ kind: 'excluded', reason })
  if (sku.resourceType !== 'virtualMachines') return excluded('not a virtual machine')
  if (neverUsed.has(name)) return excluded('not fit for an AKS node')
  const parts = grammar.exec(name.replace(/^(Standard|Basic)_/, ''))?.groups
  if (parts === undefined) return excluded('size name not understood')
  if (isRestricted(sku, region)) return excluded('not offered to this subscription in the region')
  const capability = new Map((sku.capabilities ?? []).map((entry) => [entry.name ?? '', entry.value ?? '']))
  const number = (key: string) => Number(capability.get(key) ?? 0)
  const yes = (key: string) => capability.get(key) === 'True'
  const gpus = number('GPUs')
  if (number('vCPUs') < 2) return excluded('fewer than 2 vCPUs')
  if (number('MemoryGB') < 3.5) return excluded('less than 3.5 GiB of memory')
  if (parts['constrained'] !== undefined) return excluded('constrained cores')
  if (/^(DC|EC)/.test(`${parts['family']}${parts['sub']}`)) return excluded('confidential size')
  const gpu = gpuSize(name)
  if (gpus > 0 && gpu === undefined) return excluded('GPU size without a driver on AKS images')
  const architecture = capability.get('CpuArchitectureType')
  if (!architecture) return excluded('CpuArchitectureType is missing')
  const ephemeral = ephemeralOsDisk(capability)
  const version = parts['version']
  return {
    kind: 'size',
    size: {
      name,
      family: sku.family ?? '',
      seriesFamily: parts['family'] ?? '',
      series: `${parts['family']}${parts['sub']}${parts['features'] ?? ''}${version === undefined ? '' : `_${version}`}`,
      version: version === undefined ? '1' : version.slice(1),
      vCpus: number('vCPUs'),
      memoryGib: number('MemoryGB'),
      arch: architecture === 'Arm64' ? 'arm64' : 'amd64',
      gpus: gpu === undefined ? 0 : gpus,
      ...(gpu === undefined ? {} : { gpu }),
      ...(gpu === undefined || parts['accelerator'] === undefined ? {} : { gpuName: parts['accelerator'] }),
      hyperVGenerations: (capability.get('HyperVGenerations') ?? 'V1')
        .split(',')
        .map((entry) => entry.replace('V', '')),
      acceleratedNetworking: yes('AcceleratedNetworkingEnabled'),
      premiumStorage: yes('PremiumIO'),
      encryptionAtHost: yes('EncryptionAtHostSupported'),
      trustedLaunch: !yes('TrustedLaunchDisabled'),
      spotCapable: yes('LowPriorityCapable'),
      ultraSsdZones: ultraSsdZones(sku),
      ultraSsdRegional: yes('UltraSSDAvailable'),
      ...(ephemeral === undefined ? {} : { ephemeralOsDisk: ephemeral }),
      zones: availableZones(sku, region),
    },
  }
}

const sameRegion = (a: string | undefined, b: string) => a?.toLowerCase().replaceAll(' ', '') === b.toLowerCase()

function isRestricted(sku: ResourceSku, region: string): boolean {
  return (sku.restrictions ?? []).some(
    (restriction) =>
      restriction.type === 'Location' &&
      (restriction.restrictionInfo?.locations ?? restriction.values ?? []).some((l) => sameRegion(l, region)),
  )
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
      .flatMap((detail) => detail.name ?? []),
  )
}

/** Only the first kind of local disk that exists counts, even where a later one would hold the OS disk (3.5). */
function ephemeralOsDisk(capability: ReadonlyMap<string, string>): VmSize['ephemeralOsDisk'] {
  if (capability.get('EphemeralOSDiskSupported') !== 'True') return undefined
  const number = (key: string) => Number(capability.get(key) ?? 0)
  const placements = capability.get('SupportedEphemeralOSDiskPlacements') ?? ''
  const toGb = (bytes: number) => Math.floor(bytes / 1e9)
  if (number('NvmeDiskSizeInMiB') > 0 && placements.includes('NvmeDisk')) {
    return { placement: 'NvmeDisk', gb: toGb(number('NvmeDiskSizeInMiB') * 2 ** 20) }
  }
  if (number('CachedDiskBytes') > 0) return { placement: 'CacheDisk', gb: toGb(number('CachedDiskBytes')) }
  if (number('MaxResourceVolumeMB') > 0)
    return { placement: 'ResourceDisk', gb: toGb(number('MaxResourceVolumeMB') * 2 ** 20) }
  return undefined
}
