import type { AzureClient } from '../arm/client.ts'
import { parseSku, type VmSize } from './sku.ts'

/** Version of reading sizes from SKUs: sizes stored under another one count as none. */
export const sizesFormat = '2'

/** Sizes that nodes can have, by name. */
export type Sizes = ReadonlyMap<string, VmSize>

/** Reads the region's sizes from the resource SKUs. Errors: Azure's; a region without a usable size. */
export async function readSizes({ compute }: AzureClient, region: string): Promise<Sizes> {
  const sizes = new Map<string, VmSize>()
  for await (const sku of compute.resourceSkus.list({ filter: `location eq '${region}'` })) {
    const parsed = parseSku(sku, region)
    if (parsed.kind === 'size') sizes.set(parsed.size.name, parsed.size)
  }
  if (sizes.size === 0) throw new Error(`resource SKUs: region "${region}" lists no usable VM size; check LOCATION`)
  return sizes
}

/** Returns sizes as JSON. */
export function encodeSizes(sizes: Sizes): unknown {
  return [...sizes.values()].map((size) => ({ ...size, ultraSsdZones: [...size.ultraSsdZones] }))
}

/** The inverse of `encodeSizes`. Errors: JSON that is not a list of sizes. */
export function decodeSizes(json: unknown): Sizes {
  if (!Array.isArray(json) || json.length === 0) throw new Error('kept VM sizes: not a list of sizes')
  const sizes = json as readonly (Omit<VmSize, 'ultraSsdZones'> & { readonly ultraSsdZones: readonly string[] })[]
  return new Map(sizes.map((size) => [size.name, { ...size, ultraSsdZones: new Set(size.ultraSsdZones) }]))
}
