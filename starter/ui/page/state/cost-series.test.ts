import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costSeries } from './cost-series.ts'

const hour = 3_600_000
const at = (index: number, byNodePool: Readonly<Record<string, number>>) => ({ atMs: index * hour, byNodePool })

describe('costSeries', () => {
  it('lays the NodePools on each other, the costliest at the bottom', () => {
    const { times, pools, unknown } = costSeries([at(0, { a: 1, b: 3 }), at(1, { b: 2 })])
    expect(times).toEqual([0, 3600, 7200])
    expect(pools).toEqual([
      { name: 'b', own: [3, 2, 2], stacked: [3, 2, 2] },
      { name: 'a', own: [1, 0, 0], stacked: [4, 2, 2] },
    ])
    expect(unknown).toBe(0)
  })

  it('leaves out the hours between that are absent', () => {
    const { pools, unknown } = costSeries([at(0, { a: 1 }), at(3, { a: 1 })])
    expect(pools[0]?.stacked).toEqual([1, null, null, 1, 1])
    expect(unknown).toBe(2)
  })

  it('takes no NodePool for what each object has', () => {
    const { pools } = costSeries([at(0, { constructor: 1 }), at(1, { a: 2 })])
    expect(pools.find(({ name }) => name === 'constructor')?.own).toEqual([1, 0, 0])
  })

  it('has nothing to draw where nothing is known', () => {
    expect(costSeries([])).toEqual({ times: [], pools: [], unknown: 0 })
  })

  it('loses no dollar, however many NodePools there are', () => {
    const report = fc.array(fc.dictionary(fc.string(), fc.double({ min: 0, max: 100, noNaN: true })), { minLength: 1 })
    fc.assert(
      fc.property(report, (hours) => {
        const { pools } = costSeries(hours.map((byNodePool, index) => at(index, byNodePool)))
        expect(pools.length).toBeLessThanOrEqual(7)
        for (const [index, byNodePool] of hours.entries()) {
          const sum = Object.values(byNodePool).reduce((all, usd) => all + usd, 0)
          expect(pools.at(-1)?.stacked[index] ?? 0).toBeCloseTo(sum, 6)
        }
      }),
    )
  })
})
