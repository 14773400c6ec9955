import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import type { InstanceType } from '../../../core/instance-type.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { inValues } from '../../../core/requirements/requirement.ts'
import { parseResources } from '../../../core/resources.ts'
import { goldenNodeClass } from '../../../test/vectors/golden-cases.ts'
import { observeCatalogue } from './catalogue-metrics.ts'
import { pricesOf } from './pricing.ts'

const type = (name: string, price: number, available = true): InstanceType => ({
  name,
  requirements: new Map(),
  capacity: parseResources({ cpu: '4', memory: '2Gi' }),
  overhead: {},
  offerings: ['eastus-1', '0'].map((zone) => ({
    price,
    available: available && zone !== '0',
    requirements: new Map([
      [labels.zone, inValues(labels.zone, [zone])],
      [labels.capacityType, inValues(labels.capacityType, ['spot'])],
    ]),
  })),
})

let registry: Registry
let catalogue: { sizes: unknown; prices: unknown; instanceTypesFor: () => readonly InstanceType[] }
let nowMs: number

beforeEach(() => {
  registry = new Registry()
  nowMs = 0
  catalogue = { sizes: {}, prices: {}, instanceTypesFor: () => [] }
  observeCatalogue(
    { catalogue: catalogue as never, nodeClasses: () => [goldenNodeClass({})], now: () => nowMs },
    registry,
  )
})

/** Returns the lines of a metric, without its prefix. */
async function lines(name: string): Promise<readonly string[]> {
  const text = await registry.metrics()
  return text.split('\n').filter((line) => line.startsWith(`${name}{`))
}

describe('metrics of the catalogue', () => {
  const prefix = 'karpenter_cloudprovider_instance_type'

  it('show each type and offering as it is now', async () => {
    const list = [type('a', 0.5)]
    catalogue.instanceTypesFor = () => list
    expect(await lines(`${prefix}_cpu_cores`)).toEqual([`${prefix}_cpu_cores{instance_type="a"} 4`])
    expect(await lines(`${prefix}_memory_bytes`)).toEqual([`${prefix}_memory_bytes{instance_type="a"} 2147483648`])
    const price = `${prefix}_offering_price_estimate`
    expect(await lines(price)).toEqual([
      `${price}{instance_type="a",capacity_type="spot",zone="eastus-1"} 0.5`,
      `${price}{instance_type="a",capacity_type="spot",zone="0"} 0.5`,
    ])
    const available = `${prefix}_offering_available`
    expect((await lines(available)).map((line) => line.slice(-1))).toEqual(['1', '0'])

    catalogue.instanceTypesFor = () => [type('b', 0.5, false)]
    expect((await lines(available)).map((line) => [line.includes('"b"'), line.slice(-1)])).toEqual([
      [true, '0'],
      [true, '0'],
    ])
  })

  it('show how old prices and sizes are, and where they come from', async () => {
    nowMs = 7000
    expect(await lines('joiner_prices_age_seconds')).toEqual([
      'joiner_prices_age_seconds{source="modelled",region=""} 7',
    ])
    expect(await lines('joiner_catalogue_age_seconds')).toEqual([])
    Object.assign(catalogue.prices as object, {
      answer: { value: { region: 'eastus', list: pricesOf([]) }, readAtMs: 1000, source: 'durable' },
    })
    Object.assign(catalogue.sizes as object, { answer: { value: new Map(), readAtMs: 5000, source: 'list' } })
    expect(await lines('joiner_prices_age_seconds')).toEqual([
      'joiner_prices_age_seconds{source="durable",region="eastus"} 6',
    ])
    expect(await lines('joiner_catalogue_age_seconds')).toEqual(['joiner_catalogue_age_seconds{source="list"} 2'])
  })
})
