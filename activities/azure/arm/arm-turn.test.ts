import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ArmBudget } from './arm-budget.ts'
import { inTurn, takeTurn } from './arm-turn.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

const puts = ['armWrites', 'createVm'] as const
const options = { buckets: puts, patienceMs: 60_000, signal: new AbortController().signal }
const make = () => new ArmBudget({ share: 1, now: () => Date.now() })
const writes = (budget: ArmBudget) => budget.levels().get('armWrites')

describe('a turn', () => {
  it('is used by one request of its class', async () => {
    const budget = make()
    const used = await inTurn(budget, options, async () => [
      takeTurn(budget, ['armReads', 'getVm']),
      takeTurn(budget, puts),
      takeTurn(budget, puts),
    ])
    expect(used).toEqual([false, true, false])
    expect(writes(budget)).toBe(199)
    expect(takeTurn(budget, puts)).toBe(false)
  })

  it('puts its tokens back when nothing was sent, also when the work failed', async () => {
    const budget = make()
    await inTurn(budget, options, async () => 'adopted')
    const failed = inTurn(budget, options, () => Promise.reject(new Error('broken')))
    await expect(failed).rejects.toThrow('broken')
    expect(writes(budget)).toBe(200)
  })

  it('is worth nothing once Azure has refused others of its class', async () => {
    const budget = make()
    const used = await inTurn(budget, options, async () => {
      budget.refused(['createVm'], 5000)
      return takeTurn(budget, puts)
    })
    expect(used).toBe(false)
    expect(budget.levels().get('createVm')).toBe(0)
  })

  it('comes before the work begins', async () => {
    const budget = make()
    budget.refused(['armWrites'], 5000)
    const begun: number[] = []
    const done = inTurn(budget, options, async () => begun.push(Date.now()))
    await vi.runAllTimersAsync()
    await done
    expect(begun).toEqual([5000])
  })
})
