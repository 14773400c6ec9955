import { describe, expect, it } from 'vitest'
import { type Duration, sampleEventMs, sampleMs } from './durations.ts'

/** So many VMs' durations, shortest first. */
function samples(duration: Duration, seed = 1, count = 4000): readonly number[] {
  return Array.from({ length: count }, (_, index) => sampleMs(duration, seed, `vm-${index}`)).toSorted((a, b) => a - b)
}

describe('a duration', () => {
  it('is what it says, and nothing when nothing is said', () => {
    expect([sampleMs(250, 1, 'vm'), sampleMs(undefined, 1, 'vm')]).toEqual([250, 0])
  })

  it('that is uniform lies evenly between its bounds', () => {
    const found = samples({ kind: 'uniform', minMs: 1000, maxMs: 3000 })
    expect(found[0]).toBeGreaterThanOrEqual(1000)
    expect(found.at(-1)).toBeLessThanOrEqual(3000)
    expect(found[1000]).toBeGreaterThan(1400)
    expect(found[1000]).toBeLessThan(1600)
  })

  it('that is log-normal has its median and 99th percentile', () => {
    const found = samples({ kind: 'lognormal', p50Ms: 30_000, p99Ms: 120_000 })
    expect(found[2000]).toBeGreaterThan(28_500)
    expect(found[2000]).toBeLessThan(31_500)
    expect(found[3960]).toBeGreaterThan(100_000)
    expect(found[3960]).toBeLessThan(145_000)
  })

  it('follows from seed and VM', () => {
    const duration = { kind: 'uniform', minMs: 0, maxMs: 1e9 } as const
    expect(sampleMs(duration, 7, 'vm')).toBe(sampleMs(duration, 7, 'vm'))
    expect(sampleMs(duration, 7, 'vm')).not.toBe(sampleMs(duration, 8, 'vm'))
    expect(sampleMs(duration, 7, 'vm')).not.toBe(sampleMs(duration, 7, 'other'))
  })

  it('between events that come so often an hour has their mean', () => {
    const total = Array.from({ length: 4000 }, (_, index) => sampleEventMs(10, 1, `vm-${index}`)).reduce(
      (a, b) => a + b,
    )
    expect(total / 4000).toBeGreaterThan(330_000)
    expect(total / 4000).toBeLessThan(390_000)
  })
})
