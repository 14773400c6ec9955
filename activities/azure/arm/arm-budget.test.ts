import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ArmBudget, ArmBudgetExhausted } from './arm-budget.ts'
import { type ArmBucket, armBuckets, armLimits } from './arm-limits.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

type Limits = Record<ArmBucket, { burst: number; perSecond: number }>

/** Returns a budget whose buckets are wide but for the given ones. */
function budget(narrow: Partial<Limits>, share = 1): ArmBudget {
  const wide = Object.fromEntries(armBuckets.map((name) => [name, { burst: 1e6, perSecond: 1e6 }])) as Limits
  return new ArmBudget({ share, now: () => Date.now(), limits: { ...wide, ...narrow } })
}

const patient = 3_600_000

/** Returns when each of so many requests passed, in ms after the start. */
async function passages(one: ArmBudget, count: number, buckets: readonly ArmBucket[]): Promise<readonly number[]> {
  const times: number[] = []
  const all = Array.from({ length: count }, () => one.pass(buckets, patient).then(() => times.push(Date.now())))
  await vi.runAllTimersAsync()
  await Promise.all(all)
  return times
}

describe('a budget', () => {
  it('lets a burst pass at once and the rest at the rate of the narrowest bucket', async () => {
    const times = await passages(budget({ armWrites: { burst: 3, perSecond: 10 } }), 6, ['armWrites', 'createVm'])
    expect(times).toEqual([0, 0, 0, 100, 200, 300])
  })

  it('is its share of what Azure grants', async () => {
    const times = await passages(budget({ armWrites: { burst: 4, perSecond: 10 } }, 0.5), 5, ['armWrites'])
    expect(times).toEqual([0, 0, 200, 400, 600])
  })

  it('never grants more than Azure does in any stretch of time', async () => {
    const times = await passages(new ArmBudget({ share: 1, now: () => Date.now() }), 1000, ['armWrites', 'createVm'])
    const { burst, perSecond } = armLimits.armWrites
    times.forEach((time, index) => {
      for (let before = 0; before <= index; before++) {
        const passed = index - before + 1
        if (passed > burst + ((time - (times[before] ?? 0)) / 1000) * perSecond + 1e-6)
          throw new Error(`${passed} requests passed in ${time - (times[before] ?? 0)} ms`)
      }
    })
    expect(times.at(-1)).toBe(80_000)
  })

  it('keeps the order of requests that wait for the same bucket, and holds up no others', async () => {
    const one = budget({ armWrites: { burst: 1, perSecond: 1 } })
    const seen: string[] = []
    const note = (name: string, buckets: readonly ArmBucket[]) => one.pass(buckets, patient).then(() => seen.push(name))
    const all = [
      note('a', ['armWrites']),
      note('b', ['armWrites']),
      note('c', ['armWrites']),
      note('read', ['armReads']),
    ]
    await vi.runAllTimersAsync()
    await Promise.all(all)
    expect(seen).toEqual(['a', 'read', 'b', 'c'])
  })

  it('says how long a request waited, and for what', async () => {
    const one = budget({ createVm: { burst: 1, perSecond: 2 } })
    const both = [one.pass(['armWrites', 'createVm'], patient), one.pass(['armWrites', 'createVm'], patient)]
    await vi.runAllTimersAsync()
    expect(await Promise.all(both)).toEqual([
      { waitedMs: 0, heldBy: undefined },
      { waitedMs: 500, heldBy: 'createVm' },
    ])
  })
})

describe('a refusal of Azure', () => {
  it('closes the bucket for all until its time; then one asks, and an answer that is late holds the next up for a second', async () => {
    const one = budget({ armWrites: { burst: 100, perSecond: 10 } })
    one.refused(['armWrites'], 5000)
    expect(await passages(one, 3, ['armWrites', 'createVm'])).toEqual([5000, 6000, 7000])
  })

  it('lets them through one by one once Azure has served the first', async () => {
    const one = budget({ armWrites: { burst: 100, perSecond: 10 } })
    one.refused(['armWrites'], 5000)
    const times: number[] = []
    const all = [1, 2, 3, 4].map(() => one.pass(['armWrites'], patient).then(() => times.push(Date.now())))
    await vi.advanceTimersByTimeAsync(5250)
    expect(times).toEqual([5000])
    one.served(['armWrites'])
    await vi.runAllTimersAsync()
    await Promise.all(all)
    expect(times).toEqual([5000, 5250, 5250, 5300])
  })

  it('learns nothing from the answer to a request that was sent before the refusal', async () => {
    const one = budget({ armWrites: { burst: 100, perSecond: 10 } })
    one.refused(['armWrites'], 5000)
    await vi.advanceTimersByTimeAsync(1000)
    one.served(['armWrites'])
    expect(await passages(one, 3, ['armWrites'])).toEqual([5000, 6000, 7000])
  })

  it('leaves the question to the next when the first has nothing to send', async () => {
    const one = budget({ armWrites: { burst: 100, perSecond: 10 } })
    one.refused(['armWrites'], 5000)
    const both = [one.pass(['armWrites'], patient), one.pass(['armWrites'], patient)]
    await vi.advanceTimersByTimeAsync(5000)
    one.giveBack(['armWrites'])
    await vi.runAllTimersAsync()
    expect((await Promise.all(both)).map(({ waitedMs }) => waitedMs)).toEqual([5000, 5000])
  })

  it('is over at the announced time, however small the share of this process', async () => {
    const one = budget({ armWrites: { burst: 1, perSecond: 10 } }, 0.01)
    one.refused(['armWrites'], 5000)
    expect(await passages(one, 1, ['armWrites'])).toEqual([5000])
  })

  it('also stops requests that wait already', async () => {
    const one = budget({ armWrites: { burst: 1, perSecond: 1 } })
    const times: number[] = []
    const all = [1, 2].map(() => one.pass(['armWrites'], patient).then(() => times.push(Date.now())))
    one.refused(['armWrites'], 10_000)
    await vi.runAllTimersAsync()
    await Promise.all(all)
    expect(times).toEqual([0, 10_000])
  })

  it('is not shortened by a later one', async () => {
    const one = budget({ armWrites: { burst: 1, perSecond: 1 } })
    one.refused(['armWrites'], 10_000)
    one.refused(['armWrites'], 1000)
    expect(await passages(one, 1, ['armWrites'])).toEqual([10_000])
  })
})

it('knows no more tokens than Azure says are left', async () => {
  const one = budget({ armReads: { burst: 100, perSecond: 1 } })
  one.learn('armReads', 2.5)
  one.learn('armReads', 50)
  expect(one.levels().get('armReads')).toBe(2.5)
  expect(await passages(one, 3, ['armReads'])).toEqual([0, 0, 500])
})

describe('a request that would wait too long', () => {
  it('is rejected at once with a time to retry, each a little later', async () => {
    const one = budget({ armWrites: { burst: 1, perSecond: 1 } })
    const waiting = [1, 2, 3].map(() => one.pass(['armWrites'], 2000))
    const away = await Promise.all([1, 2].map(() => one.pass(['armWrites'], 2000).catch((error: unknown) => error)))
    expect(away.map((error) => (error instanceof ArmBudgetExhausted ? error.retryAfterMs : error))).toEqual([
      3000, 4000,
    ])
    expect(String(away[0])).toMatch(/"armWrites" is used up for 3 s.*JOINER_ARM_BUDGET_SHARE/)
    await vi.runAllTimersAsync()
    await Promise.all(waiting)
  })

  it('may stop waiting, and leaves its place to the others', async () => {
    const one = budget({ armWrites: { burst: 1, perSecond: 1 } })
    const stop = new AbortController()
    await one.pass(['armWrites'], patient)
    const gone = one.pass(['armWrites'], patient, stop.signal)
    const next = one.pass(['armWrites'], patient)
    stop.abort(new Error('no longer'))
    await expect(gone).rejects.toThrow('no longer')
    await expect(one.pass(['armWrites'], patient, stop.signal)).rejects.toThrow('no longer')
    await vi.runAllTimersAsync()
    expect((await next).waitedMs).toBe(1000)
  })
})
