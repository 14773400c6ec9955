import { z } from 'zod'
import { amount, name, words } from '../../../api/kept/document.ts'
import type { AzureClient } from '../arm/client.ts'
import type { KeptFormat } from './durable-document.ts'
import type { Bytes } from './os-disk.ts'
import { mostGib, mostVCpus, parseSku, type VmSize } from './sku.ts'

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

const zones = z.array(z.string().regex(/^[a-zA-Z0-9-]{1,30}$/)).max(30)

const size: z.ZodType<VmSize> = z.object({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/),
  family: name,
  series: name,
  seriesFamily: name,
  version: name,
  vCpus: z.int().min(1).max(mostVCpus),
  memoryGib: amount(0.5, mostGib),
  arch: z.enum(['amd64', 'arm64']),
  gpus: z.int().min(0).max(mostVCpus),
  gpu: z
    .object({
      vendor: z.enum(['nvidia', 'amd']),
      images: z.array(z.enum(['Ubuntu', 'AzureLinux2', 'AzureLinux3'])).max(9),
    })
    .exactOptional(),
  gpuName: name.exactOptional(),
  hyperVGenerations: z.array(words(10)).max(9),
  acceleratedNetworking: z.boolean(),
  premiumStorage: z.boolean(),
  encryptionAtHost: z.boolean(),
  trustedLaunch: z.boolean(),
  spotCapable: z.boolean(),
  ultraSsdZones: z.codec(zones, z.set(z.string()), { decode: (list) => new Set(list), encode: (set) => [...set] }),
  ultraSsdRegional: z.boolean(),
  dataDisks: z.int().min(0).max(99_999).exactOptional(),
  zones,
  localDisks: z
    .array(
      z.object({
        placement: z.enum(['NvmeDisk', 'CacheDisk', 'ResourceDisk']),
        size: amount(0, 1e18) as z.ZodType as z.ZodType<Bytes>,
      }),
    )
    .max(9)
    .exactOptional(),
  ephemeralOsMaxGb: z.int().min(0).max(1e9).exactOptional(),
})

/** The region's sizes in the ConfigMap. */
export const keptSizes: KeptFormat<Sizes> = {
  name: 'joiner-catalogue',
  version: '2',
  schema: z.codec(z.array(size).min(1).max(10_000), z.custom<Sizes>(), {
    decode: (list) => new Map(list.map((one) => [one.name, one])),
    encode: (sizes) => [...sizes.values()],
  }),
}
