// Tables of facts about Azure's sizes, prices and images: of Azure's own answers only what suites need.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { ResourceSku } from '@azure/arm-compute'
import type { PriceItem } from '../../activities/azure/catalogue/pricing.ts'

/** Capabilities of a size that the catalogue looks at. */
const capabilities = new Set(
  'vCPUs MemoryGB GPUs CpuArchitectureType HyperVGenerations AcceleratedNetworkingEnabled PremiumIO EncryptionAtHostSupported'
    .concat(' TrustedLaunchDisabled LowPriorityCapable UltraSSDAvailable EphemeralOSDiskSupported')
    .concat(' SupportedEphemeralOSDiskPlacements NvmeDiskSizeInMiB CachedDiskBytes MaxResourceVolumeMB')
    .split(' '),
)

/** What a price is of: a row of Linux on demand, of Linux spot, or one that a reader has to pass over. */
type PriceKind = 'on-demand' | 'spot' | 'windows' | 'low-priority'
export type PriceRow = readonly [size: string, kind: PriceKind, usdAnHour: number]

interface GalleryVersions {
  readonly communityGallery: string
  readonly definition: string
  readonly versions: readonly { readonly name: string; readonly properties: { readonly publishedDate: string } }[]
}

/** What suites on images read. */
export interface ImageTable {
  readonly communityGalleryVersions: readonly {
    readonly communityGallery: string
    readonly definition: string
    readonly versions: readonly { readonly name: string; readonly publishedDate: string }[]
  }[]
  readonly nodeImageVersions: {
    readonly value: readonly { readonly os: string; readonly sku: string; readonly version: string }[]
  }
}

/** The tables as entries of a pack, from a folder with Azure's answers: `skus/REGION.json`, `prices*.json` and `images.json`. */
export function azureTables(folder: string): readonly { readonly name: string; readonly content: unknown }[] {
  const read = (path: string) => JSON.parse(readFileSync(join(folder, path), 'utf8')) as never
  const regions = readdirSync(join(folder, 'skus')).map((file) => basename(file, '.json'))
  const priceFiles = readdirSync(folder).filter((name) => name.startsWith('prices') && name.endsWith('.json'))
  return [
    ...regions.flatMap((region) => {
      const { value }: { value: readonly ResourceSku[] } = read(`skus/${region}.json`)
      const names = new Set(value.map(({ name }) => name))
      const prices = priceFiles.map((file) => [
        basename(file, '.json'),
        priceRows((read(file) as { Items: readonly PriceItem[] }).Items, region, names),
      ])
      return [
        { name: `sizes-${region}`, content: value.map(trimmedSku) },
        { name: `prices-${region}`, content: Object.fromEntries(prices) as unknown },
      ]
    }),
    { name: 'images', content: imageTable(read('images.json')) },
  ]
}

function trimmedSku({
  name,
  family,
  resourceType,
  capabilities: all = [],
  locationInfo = [],
  restrictions = [],
}: ResourceSku) {
  return {
    name,
    family,
    resourceType,
    capabilities: all.filter((entry) => capabilities.has(entry.name ?? '')),
    locationInfo: locationInfo.map(({ location, zones, zoneDetails }) => ({ location, zones, zoneDetails })),
    restrictions: restrictions.map(({ type, reasonCode, restrictionInfo }) => ({ type, reasonCode, restrictionInfo })),
  }
}

function priceRows(
  items: readonly (PriceItem & { readonly armRegionName?: string })[],
  region: string,
  names: ReadonlySet<string | undefined>,
): readonly PriceRow[] {
  return items.flatMap((item): readonly PriceRow[] => {
    const { armSkuName, armRegionName, retailPrice } = item
    if (armRegionName !== region || armSkuName === undefined || retailPrice === undefined) return []
    return names.has(armSkuName) ? [[armSkuName, kindOf(item), retailPrice]] : []
  })
}

function kindOf({ productName = '', meterName = '', skuName = '' }: PriceItem): PriceKind {
  if (productName.endsWith(' Windows')) return 'windows'
  if (meterName.endsWith(' Low Priority')) return 'low-priority'
  return skuName.endsWith(' Spot') ? 'spot' : 'on-demand'
}

/** Rows of a table as the price API has them. */
export function priceItemsOf(rows: readonly PriceRow[]): readonly PriceItem[] {
  return rows.map(([size, kind, retailPrice]) => ({
    armSkuName: size,
    retailPrice,
    productName: kind === 'windows' ? 'Virtual Machines Windows' : 'Virtual Machines',
    meterName: kind === 'low-priority' ? `${size} Low Priority` : size,
    skuName: kind === 'spot' ? `${size} Spot` : size,
  }))
}

function imageTable(images: {
  readonly communityGalleryVersions: readonly GalleryVersions[]
  readonly nodeImageVersions: ImageTable['nodeImageVersions']
}): ImageTable {
  return {
    communityGalleryVersions: images.communityGalleryVersions.map(({ communityGallery, definition, versions }) => ({
      communityGallery,
      definition,
      versions: versions.map(({ name, properties }) => ({ name, publishedDate: properties.publishedDate })),
    })),
    nodeImageVersions: {
      value: images.nodeImageVersions.value.map(({ os, sku, version }) => ({ os, sku, version })),
    },
  }
}
