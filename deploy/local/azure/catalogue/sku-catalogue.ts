import { readFileSync } from 'node:fs'
import type { SimulatorConfig } from '../server/config.ts'
import { sizesUpTo, skuJson } from './catalogue.ts'
import type { SkuJson } from './sku-json.ts'

/** What the simulator itself needs to know of a size. */
export interface VmSize {
  readonly name: string
  /** Name of its quota. */
  readonly family: string
  readonly vCpus: number
  readonly memoryGib: number
  readonly arch: 'amd64' | 'arm64'
  /** ARM zone numbers in which it is sold; none: regional only. */
  readonly zones: readonly string[]
  readonly hasSpot: boolean
  /** Where the catalogue itself says that it may not be had: zone numbers, or everywhere. */
  readonly restricted: readonly string[] | 'everywhere'
  readonly gpus: number
  readonly maxDataDisks: number
  /** GiB of the host's disks that can keep an OS disk, by placement, the default first. */
  readonly localDisks: ReadonlyMap<string, number>
}

/** The sizes of the region: the simulator's own table, or a file with an answer of `GET Microsoft.Compute/skus`. */
export class SkuCatalogue {
  /** As the SKUs API answers, disks and others included. */
  readonly skus: readonly SkuJson[]
  readonly #sizes: ReadonlyMap<string, VmSize>

  /** Errors: the file cannot be read, or holds no VM size of the simulated location. */
  constructor({
    location,
    catalogueFile,
    zones,
    mostVCpus,
  }: Pick<SimulatorConfig, 'location' | 'catalogueFile' | 'zones' | 'mostVCpus'>) {
    this.skus =
      catalogueFile === undefined
        ? sizesUpTo(mostVCpus).map((size) => skuJson(size, location, zones))
        : readSkus(catalogueFile, location)
    const vms = this.skus.filter(({ resourceType }) => resourceType === 'virtualMachines')
    this.#sizes = new Map(vms.map((sku) => [sku.name.toLowerCase(), sizeOf(sku)]))
  }

  size(name: string): VmSize | undefined {
    return this.#sizes.get(name.toLowerCase())
  }

  get families(): readonly string[] {
    return [...new Set([...this.#sizes.values()].map(({ family }) => family))]
  }
}

function readSkus(file: string, location: string): readonly SkuJson[] {
  const { value } = JSON.parse(readFileSync(file, 'utf8')) as { readonly value?: readonly SkuJson[] }
  if (!Array.isArray(value))
    throw new Error(`catalogueFile "${file}" has no list "value"; give it an answer of GET Microsoft.Compute/skus`)
  const skus = value as readonly SkuJson[]
  const isHere = (sku: SkuJson) =>
    sku.resourceType === 'virtualMachines' &&
    (sku.locations ?? []).some((name) => name.toLowerCase() === location.toLowerCase())
  if (!skus.some(isHere)) {
    const known = [...new Set(skus.flatMap(({ locations }) => locations ?? []))].join(', ')
    throw new Error(`catalogueFile "${file}" sells no VM size in location "${location}"; it knows ${known || 'none'}`)
  }
  return skus
}

function sizeOf({ name, family = '', locationInfo = [], capabilities = [], restrictions = [] }: SkuJson): VmSize {
  const capability = (wanted: string) => capabilities.find((entry) => entry.name === wanted)?.value
  return {
    name,
    family,
    vCpus: Number(capability('vCPUs') ?? 0),
    memoryGib: Number(capability('MemoryGB') ?? 0),
    arch: capability('CpuArchitectureType') === 'Arm64' ? 'arm64' : 'amd64',
    zones: locationInfo[0]?.zones ?? [],
    hasSpot: capability('LowPriorityCapable') === 'True',
    restricted: restrictions.some(({ type }) => type === 'Location')
      ? 'everywhere'
      : restrictions.flatMap(({ restrictionInfo }) => restrictionInfo?.zones ?? []),
    gpus: Number(capability('GPUs') ?? 0),
    maxDataDisks: Number(capability('MaxDataDiskCount') ?? 64),
    localDisks: localDisksOf(capability),
  }
}

/** A list from before there were placements names none, and had no NVMe. */
function localDisksOf(capability: (name: string) => string | undefined): ReadonlyMap<string, number> {
  const named = capability('SupportedEphemeralOSDiskPlacements') ?? 'CacheDisk,ResourceDisk'
  const sizes = [
    ['CacheDisk', Number(capability('CachedDiskBytes') ?? 0) / 2 ** 30],
    ['ResourceDisk', Number(capability('MaxResourceVolumeMB') ?? 0) / 1024],
    ['NvmeDisk', Number(capability('NvmeDiskSizeInMiB') ?? 0) / 1024],
  ] as const
  const isSupported = capability('EphemeralOSDiskSupported') === 'True'
  return new Map(sizes.filter(([placement, size]) => isSupported && size > 0 && named.includes(placement)))
}
