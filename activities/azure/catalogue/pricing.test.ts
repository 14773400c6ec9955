import { describe, expect, it } from 'vitest'
import { capacityTypeOf, type Offering } from '../../../core/instance-type.ts'
import { goldenConfig, goldenLivePrices, goldenNodeClass, goldenSizes } from '../../../test/vectors/golden-cases.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { instanceTypes } from './instance-types.ts'
import { isUnknownPrice, keptPrices, type PriceItem, pricesOf } from './pricing.ts'

describe('prices', () => {
  it('leave out Windows and low priority, and separate spot', () => {
    const prices = pricesOf([
      { armSkuName: 'a', retailPrice: 1, skuName: 'A', productName: 'Virtual Machines A Series' },
      { armSkuName: 'a', retailPrice: 9, skuName: 'A', productName: 'Virtual Machines A Series Windows' },
      { armSkuName: 'a', retailPrice: 8, skuName: 'A Low Priority', meterName: 'A Low Priority' },
      { armSkuName: 'a', retailPrice: 0.2, skuName: 'A Spot', productName: 'Virtual Machines A Series' },
    ])
    expect(prices.priceOf({ name: 'a' }, 'on-demand')).toBe(1)
    expect(prices.priceOf({ name: 'a' }, 'spot')).toBe(0.2)
    expect(prices.priceOf({ name: 'b' }, 'spot')).toBe(999)
  })

  it('without a size or a price are left out', () => {
    const { onDemand, spot } = pricesOf([
      { armSkuName: 'a', retailPrice: 1 },
      { armSkuName: 'a' },
      { armSkuName: 'b' },
      { retailPrice: 2 },
      { retailPrice: 2, skuName: 'Spot' },
    ])
    expect([[...onDemand], [...spot]]).toEqual([[['a', 1]], []])
  })

  it('of 0 are none: of 31 sizes that cost 0 but for one, that one is chosen', () => {
    const [first, ...sizes] = goldenSizes('eastus').slice(0, 31)
    if (first === undefined) throw new Error('the table of sizes is empty')
    const prices = pricesOf([
      ...sizes.map(({ name }) => ({ armSkuName: name, retailPrice: 0 })),
      { armSkuName: first.name, retailPrice: 3.5 },
    ])
    expect(prices.priceOf(first, 'on-demand')).toBe(3.5)
    for (const size of sizes) {
      const price = prices.priceOf(size, 'on-demand')
      expect([isUnknownPrice(price), price > 3.5]).toEqual([true, true])
    }
  })

  it('that nothing costs are left out: they could not be kept', () => {
    const odd = [-1, 1e308, Number.NaN].map((retailPrice, at) => ({ armSkuName: `odd-${at}`, retailPrice }))
    expect([...pricesOf([...odd, { armSkuName: 'a', retailPrice: 1 }]).onDemand]).toEqual([['a', 1]])
  })

  it('are the same after they were kept', () => {
    const list = pricesOf([
      { armSkuName: 'a', retailPrice: 1 },
      { armSkuName: 'a', retailPrice: 0.2, skuName: 'A Spot' },
    ])
    const kept: unknown = JSON.parse(JSON.stringify(keptPrices.schema.encode({ region: 'westus2', list })))
    expect(keptPrices.schema.parse(kept)).toEqual({ region: 'westus2', list })
    expect(keptPrices.schema.safeParse({ region: 'westus2' }).success).toBe(false)
  })
})

interface PageCase {
  readonly name: string
  readonly page: { readonly Items: readonly PriceItem[] | null }
  readonly expected: Readonly<Record<'onDemand' | 'spot', Readonly<Record<string, number>>>>
}

goldenSuite('azure/pricing', 7, ({ cases }: { readonly cases: readonly PageCase[] }) => {
  it.each(cases)('$name', ({ page, expected }) => {
    const { onDemand, spot } = pricesOf(page.Items ?? [])
    expect({ onDemand: Object.fromEntries(onDemand), spot: Object.fromEntries(spot) }).toEqual(expected)
  })
})

interface LivePrices {
  readonly region: string
  readonly offeringPrices: readonly {
    readonly instanceType: string
    readonly onDemandOfferingPrice: number
    readonly spotOfferingPrice: number
  }[]
}

for (const [region, count] of [
  ['eastus', 873],
  ['southcentralus', 16],
] as const) {
  goldenSuite(
    `azure/live-prices-${region}`,
    count,
    (live: LivePrices) => {
      it('every type of the default node class costs the same in each offering', () => {
        const config = goldenConfig(region, plainOptions)
        const types = instanceTypes({
          sizes: goldenSizes(region),
          region,
          nodeClass: nodeClassSettings(goldenNodeClass({}), config),
          prices: goldenLivePrices(region),
          isMarked: () => false,
          hasQuota: () => true,
          memoryOverheadPercent: 0.075,
          nodeResourceGroup: 'test-resourceGroup',
        })
        const own = types.map(({ name, offerings }) => ({ name, ...pricesByCapacityType(offerings) }))
        const expected = live.offeringPrices.map(({ instanceType, onDemandOfferingPrice, spotOfferingPrice }) => ({
          name: instanceType,
          'on-demand': [onDemandOfferingPrice],
          spot: [spotOfferingPrice],
        }))
        expect(byName(own)).toEqual(byName(expected))
      })
    },
    { of: ({ offeringPrices }: LivePrices) => offeringPrices },
  )
}

const plainOptions = {
  nodeResourceGroup: 'test-resourceGroup',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
} as const

/** Returns the different prices of a type's offerings: one of each capacity type. */
function pricesByCapacityType(offerings: readonly Offering[]): Readonly<Record<string, readonly number[]>> {
  const groups = Map.groupBy(offerings, capacityTypeOf)
  return Object.fromEntries([...groups].map(([key, all]) => [key, [...new Set(all.map(({ price }) => price))]]))
}

const byName = <T extends { readonly name: string }>(types: readonly T[]) =>
  types.toSorted((a, b) => (a.name < b.name ? -1 : 1))
