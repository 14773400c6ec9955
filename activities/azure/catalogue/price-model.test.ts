import { describe, expect, it } from 'vitest'
import { goldenPrices, goldenSizes } from '../../../test/vectors/golden-cases.ts'
import { modelledPrice, type PricedSize } from './pricing.ts'

const size: PricedSize = { name: 'a', seriesFamily: 'D', arch: 'amd64', vCpus: 4, memoryGib: 16, gpus: 0 }

describe('a modelled price', () => {
  it.each<[string, Partial<PricedSize>, Partial<PricedSize>]>([
    ['rises with vCPUs', {}, { vCpus: 8 }],
    ['rises with memory', {}, { memoryGib: 32 }],
    ['rises with GPUs', { gpus: 1, gpuName: 'T4' }, { gpus: 4, gpuName: 'T4' }],
    ['is higher for the greater GPU', { gpus: 1, gpuName: 'T4' }, { gpus: 1, gpuName: 'H100' }],
    ['is higher for a GPU that is not known than for none', {}, { gpus: 1 }],
    ['is lower for Arm', { arch: 'arm64' }, {}],
    ['is lower for burstable sizes', { seriesFamily: 'B' }, {}],
  ])('%s', (_rule, lower, higher) => {
    expect(modelledPrice({ ...size, ...lower }, 'on-demand')).toBeLessThan(
      modelledPrice({ ...size, ...higher }, 'on-demand'),
    )
  })

  it('is lower for spot, and never nothing', () => {
    const spot = modelledPrice({ ...size, seriesFamily: '?' }, 'spot')
    expect(spot).toBeLessThan(modelledPrice({ ...size, seriesFamily: '?' }, 'on-demand'))
    expect(spot).toBeGreaterThan(0)
  })
})

describe('modelled prices beside the real ones of eastus', () => {
  const list = goldenPrices('eastus').onDemand
  const pairs = goldenSizes('eastus').flatMap((one) => {
    const real = list.get(one.name)
    return real === undefined ? [] : [[real, modelledPrice(one, 'on-demand')] as const]
  })

  it('are compared for all sizes that have a price', () => {
    console.log(`${pairs.length} modelled prices compared`)
    expect(pairs.length).toBeGreaterThanOrEqual(800)
  })

  it('are near: half of them within 15 %, nine of ten within 40 %', () => {
    const errors = pairs.map(([real, modelled]) => Math.abs(modelled / real - 1)).sort((a, b) => a - b)
    expect(errors[Math.floor(errors.length / 2)]).toBeLessThan(0.15)
    expect(errors[Math.floor(errors.length * 0.9)]).toBeLessThan(0.4)
  })

  it('have nearly the same order', () => {
    expect(rankCorrelation(pairs)).toBeGreaterThan(0.98)
  })
})

/** Returns Spearman's correlation: 1 where both sides have the same order, 0 where they are unrelated. */
function rankCorrelation(pairs: readonly (readonly [number, number])[]): number {
  const ranksOf = (side: 0 | 1) => {
    const order = pairs.map((_, at) => at).sort((a, b) => (pairs[a]?.[side] ?? 0) - (pairs[b]?.[side] ?? 0))
    return new Map(order.map((at, rank) => [at, rank]))
  }
  const [left, right] = [ranksOf(0), ranksOf(1)]
  const squares = pairs.reduce((sum, _, at) => sum + ((left.get(at) ?? 0) - (right.get(at) ?? 0)) ** 2, 0)
  return 1 - (6 * squares) / (pairs.length * (pairs.length ** 2 - 1))
}
