import type { SkuJson } from './sku-json.ts'

interface Family {
  /** Family name as quota knows it. */
  readonly family: string
  readonly prefix: string
  readonly suffix: string
  readonly vCpus: readonly number[]
  readonly gibPerVCpu: number
  /** USD per vCPU and hour, Linux, on demand. */
  readonly price: number
  readonly arch?: 'Arm64'
  readonly localGbPerVCpu?: number
  readonly zones?: readonly string[]
  readonly spot?: boolean
  readonly gpus?: number
}

const usual = [2, 4, 8, 16, 32, 48, 64, 96]
const zonal: readonly string[] = ['1', '2', '3']

/** VM families of one region, as facts: sizes, memory, price. They expand to the SKUs that the simulator offers. */
const families: readonly Family[] = [
  ...generation({ prefix: 'D', version: 5, gibPerVCpu: 4, price: 0.048 }),
  ...generation({ prefix: 'D', version: 6, gibPerVCpu: 4, price: 0.05 }),
  ...generation({ prefix: 'E', version: 5, gibPerVCpu: 8, price: 0.063 }),
  ...generation({ prefix: 'E', version: 6, gibPerVCpu: 8, price: 0.066 }),
  {
    family: 'standardDPSv5Family',
    prefix: 'D',
    suffix: 'ps_v5',
    vCpus: [2, 4, 8, 16, 32, 48, 64],
    gibPerVCpu: 4,
    price: 0.0385,
    arch: 'Arm64',
  },
  {
    family: 'standardDPDSv5Family',
    prefix: 'D',
    suffix: 'pds_v5',
    vCpus: [2, 4, 8, 16, 32, 48, 64],
    gibPerVCpu: 4,
    price: 0.0452,
    arch: 'Arm64',
    localGbPerVCpu: 37,
  },
  {
    family: 'standardEPSv5Family',
    prefix: 'E',
    suffix: 'ps_v5',
    vCpus: [2, 4, 8, 16, 20, 32],
    gibPerVCpu: 8,
    price: 0.0504,
    arch: 'Arm64',
  },
  {
    family: 'standardDSv3Family',
    prefix: 'D',
    suffix: 's_v3',
    vCpus: [2, 4, 8, 16, 32, 48, 64],
    gibPerVCpu: 4,
    price: 0.048,
    localGbPerVCpu: 25,
  },
  {
    family: 'standardESv3Family',
    prefix: 'E',
    suffix: 's_v3',
    vCpus: [2, 4, 8, 16, 20, 32, 48, 64],
    gibPerVCpu: 8,
    price: 0.063,
    localGbPerVCpu: 25,
  },
  {
    family: 'standardFSv2Family',
    prefix: 'F',
    suffix: 's_v2',
    vCpus: [2, 4, 8, 16, 32, 48, 64, 72],
    gibPerVCpu: 2,
    price: 0.0423,
    localGbPerVCpu: 16,
  },
  {
    family: 'standardBSFamily',
    prefix: 'B',
    suffix: 'ms',
    vCpus: [2, 4, 8, 12, 16, 20],
    gibPerVCpu: 4,
    price: 0.0416,
    localGbPerVCpu: 8,
    spot: false,
  },
  {
    family: 'standardLSv3Family',
    prefix: 'L',
    suffix: 's_v3',
    vCpus: [8, 16, 32, 48, 64, 80],
    gibPerVCpu: 8,
    price: 0.087,
    localGbPerVCpu: 10,
  },
  {
    family: 'standardMSFamily',
    prefix: 'M',
    suffix: 's',
    vCpus: [32, 64, 128],
    gibPerVCpu: 16,
    price: 0.104,
    zones: ['1', '2'],
  },
  {
    family: 'standardDv2Family',
    prefix: 'DS',
    suffix: '_v2',
    vCpus: [2, 4, 8, 16],
    gibPerVCpu: 3.5,
    price: 0.073,
    localGbPerVCpu: 7,
    zones: [],
  },
  {
    family: 'Standard NCASv3_T4 Family',
    prefix: 'NC',
    suffix: 'as_T4_v3',
    vCpus: [4, 8, 16, 64],
    gibPerVCpu: 7,
    price: 0.13,
    localGbPerVCpu: 44,
    gpus: 1,
  },
]

interface Generation extends Pick<Family, 'gibPerVCpu' | 'price'> {
  readonly prefix: 'D' | 'E'
  readonly version: number
}

/** The usual variants of a general generation: Intel and AMD, with and without local disk, with and without premium storage. */
function generation({ prefix, version, gibPerVCpu, price }: Generation): Family[] {
  const variants = [
    ['s', 1, undefined],
    ['ds', 1.17, 37],
    ['as', 0.9, undefined],
    ['ads', 1.07, 37],
  ] as const
  return variants.map(([features, factor, localGbPerVCpu]) => ({
    family: `standard${prefix}${features.toUpperCase()}v${version}Family`,
    prefix,
    suffix: `${features}_v${version}`,
    vCpus: prefix === 'E' ? [2, 4, 8, 16, 20, 32, 48, 64, 96] : usual,
    gibPerVCpu,
    price: price * factor,
    ...(localGbPerVCpu === undefined ? {} : { localGbPerVCpu }),
  }))
}

export interface Size {
  readonly name: string
  readonly family: Family
  readonly vCpus: number
  readonly memoryGib: number
  readonly price: number
}

export const sizes: ReadonlyMap<string, Size> = new Map(
  families.flatMap((family) =>
    family.vCpus.map((vCpus) => {
      const name = `Standard_${family.prefix}${vCpus}${family.suffix}`
      return [
        name,
        { name, family, vCpus, memoryGib: vCpus * family.gibPerVCpu, price: Number((family.price * vCpus).toFixed(4)) },
      ] as const
    }),
  ),
)

/** Those with at most so many vCPUs. */
export const sizesUpTo = (mostVCpus = Number.POSITIVE_INFINITY) =>
  [...sizes.values()].filter(({ vCpus }) => vCpus <= mostVCpus)

/** A size as Microsoft.Compute/skus lists it. `zones`: where it is sold, unless its family is sold in fewer. */
export function skuJson({ name, family, vCpus, memoryGib }: Size, location: string, zones = zonal): SkuJson {
  const localGb = (family.localGbPerVCpu ?? 0) * vCpus
  const capabilities: Record<string, string> = {
    vCPUs: String(vCpus),
    MemoryGB: String(memoryGib),
    CpuArchitectureType: family.arch ?? 'x64',
    HyperVGenerations: family.arch === 'Arm64' ? 'V2' : 'V1,V2',
    PremiumIO: 'True',
    AcceleratedNetworkingEnabled: 'True',
    EncryptionAtHostSupported: 'True',
    LowPriorityCapable: family.spot === false ? 'False' : 'True',
    EphemeralOSDiskSupported: localGb > 0 ? 'True' : 'False',
    MaxResourceVolumeMB: String(localGb * 1024),
    MaxDataDiskCount: String(Math.min(2 * vCpus, 32)),
    ...(localGb > 0 ? { CachedDiskBytes: String(localGb * 1_073_741_824) } : {}),
    ...(family.gpus === undefined ? {} : { GPUs: String(Math.max(1, Math.floor(vCpus / 16) * family.gpus)) }),
  }
  return {
    resourceType: 'virtualMachines',
    name,
    tier: 'Standard',
    size: name.replace('Standard_', ''),
    family: family.family,
    locations: [location],
    locationInfo: [{ location, zones: family.zones ?? zones, zoneDetails: [] }],
    capabilities: Object.entries(capabilities).map(([key, value]) => ({ name: key, value })),
    restrictions: [],
  }
}

export const spotShare = 0.2

/** A row of the retail price list. */
export type PriceItem = Readonly<Record<string, unknown>>

/** The retail prices of a size: on demand, and spot where there is spot. */
export function priceItems({ name, family, price }: Size, location: string): readonly PriceItem[] {
  const common = {
    currencyCode: 'USD',
    armRegionName: location,
    armSkuName: name,
    serviceName: 'Virtual Machines',
    serviceFamily: 'Compute',
    type: 'Consumption',
  }
  const short = name.replace('Standard_', '').replaceAll('_', ' ')
  const productName = `Virtual Machines ${family.family}`
  const onDemand = { ...common, retailPrice: price, unitPrice: price, productName, skuName: short, meterName: short }
  const windows = { ...onDemand, retailPrice: price * 1.9, productName: `${productName} Windows` }
  if (family.spot === false) return [onDemand, windows]
  const spotPrice = Number((price * spotShare).toFixed(5))
  return [
    onDemand,
    windows,
    { ...onDemand, retailPrice: spotPrice, unitPrice: spotPrice, skuName: `${short} Spot`, meterName: `${short} Spot` },
  ]
}
