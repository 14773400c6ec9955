import { describe, expect, it } from 'vitest'
import { hasGoldenCases, readGolden } from '../../test/golden-cases.ts'
import { type PriceItem, Prices, pricesOf } from './pricing.ts'

const facts = { vCpus: 2, memoryGib: 8, gpus: 0 }

describe('prices', () => {
  it('leave out Windows and low priority, and tell spot apart', () => {
    const prices = pricesOf([
      { armSkuName: 'a', retailPrice: 1, skuName: 'A', productName: 'Virtual Machines A Series' },
      { armSkuName: 'a', retailPrice: 9, skuName: 'A', productName: 'Virtual Machines A Series Windows' },
      { armSkuName: 'a', retailPrice: 8, skuName: 'A Low Priority', meterName: 'A Low Priority' },
      { armSkuName: 'a', retailPrice: 0.2, skuName: 'A Spot', productName: 'Virtual Machines A Series' },
    ])
    expect(prices.priceOf({ name: 'a', ...facts }, 'on-demand')).toBe(1)
    expect(prices.priceOf({ name: 'a', ...facts }, 'spot')).toBe(0.2)
    expect(prices.priceOf({ name: 'b', ...facts }, 'spot')).toBe(999)
  })

  it('are estimated until a list was loaded: small before large', () => {
    const none = new Prices()
    const large = none.priceOf({ name: 'b', vCpus: 8, memoryGib: 32, gpus: 0 }, 'on-demand')
    expect(none.priceOf({ name: 'a', ...facts }, 'on-demand')).toBeLessThan(large)
    expect(large).toBeLessThan(none.priceOf({ name: 'c', vCpus: 8, memoryGib: 32, gpus: 4 }, 'on-demand'))
  })

  it.skipIf(!hasGoldenCases)('of a page are those of the reference', () => {
    const { cases } = readGolden('vectors/pricing.json') as {
      readonly cases: readonly {
        readonly name: string
        readonly page: { readonly Items: readonly PriceItem[] | null }
        readonly expected: {
          readonly onDemand: Readonly<Record<string, number>>
          readonly spot: Readonly<Record<string, number>>
        }
      }[]
    }
    for (const { name, page, expected } of cases) {
      const prices = pricesOf(page.Items ?? [])
      const all = Object.keys(expected.onDemand).length + Object.keys(expected.spot).length
      expect({ name, size: prices.size }).toEqual({ name, size: all })
      for (const [size, price] of Object.entries(expected.onDemand))
        expect(prices.priceOf({ name: size, ...facts }, 'on-demand')).toBe(price)
      for (const [size, price] of Object.entries(expected.spot))
        expect(prices.priceOf({ name: size, ...facts }, 'spot')).toBe(price)
    }
  })
})
