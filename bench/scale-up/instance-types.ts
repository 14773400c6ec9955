import type { ResourceSku } from '@azure/arm-compute'
import { parseSku, type VmSize } from '../../activities/azure/catalogue/sku.ts'
import { type Size, sizes, skuJson, spotShare } from '../../deploy/local/azure/catalogue/catalogue.ts'

/** What firmware and kernel keep of a size's memory. */
const memoryShare = 0.925
const pods = '250'

/** An instance type in the file that Karpenter's kwok cloud reads; names of fields as it knows them. */
interface KwokType {
  readonly name: string
  readonly architecture: string
  readonly operatingSystems: readonly string[]
  readonly resources: Readonly<Record<string, string>>
  readonly offerings: readonly KwokOffering[]
}

interface KwokOffering {
  readonly Price: number
  readonly Available: true
  readonly Requirements: readonly {
    readonly key: string
    readonly operator: 'In'
    readonly values: readonly string[]
  }[]
}

/**
 * The simulator's sizes that Joiner would use, with their zones and prices, for Karpenter's kwok cloud. The family is a requirement of the offerings: a
 * NodePool may ask for it then, which it may not for labels that this cloud does not know.
 */
export function instanceTypes(location: string): readonly KwokType[] {
  return [...sizes.values()].flatMap((size) => {
    const parsed = parseSku(skuJson(size, location) as unknown as ResourceSku, location)
    return parsed.kind === 'size' ? [kwokType(size, parsed.size, location)] : []
  })
}

function kwokType({ price }: Size, size: VmSize, location: string): KwokType {
  const zones = size.zones.length === 0 ? ['0'] : size.zones.map((zone) => `${location}-${zone}`)
  const prices = { 'on-demand': price, ...(size.spotCapable ? { spot: Number((price * spotShare).toFixed(5)) } : {}) }
  return {
    name: size.name,
    architecture: size.arch,
    operatingSystems: ['linux'],
    resources: {
      cpu: String(size.vCpus),
      memory: `${Math.floor(size.memoryGib * 1024 * memoryShare)}Mi`,
      'ephemeral-storage': '128G',
      pods,
    },
    offerings: Object.entries(prices).flatMap(([capacityType, Price]) =>
      zones.map((zone) => ({
        Price,
        Available: true,
        Requirements: [
          isOneOf('karpenter.sh/capacity-type', capacityType),
          isOneOf('topology.kubernetes.io/zone', zone),
          isOneOf('karpenter.azure.com/sku-family', size.seriesFamily),
        ],
      })),
    ),
  }
}

function isOneOf(key: string, ...values: readonly string[]) {
  return { key, operator: 'In', values } as const
}
