import { AsyncLocalStorage } from 'node:async_hooks'
import type { VirtualMachine } from '@azure/arm-compute'
import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { LateList } from '../answers/late-list.ts'
import { VmList } from './vm-list.ts'

const log = pino({ level: 'silent' })
const standing = () => new LateList('VMs', { log, now: () => Date.now() })
const pace = { fastestMs: 1, slowestMs: 4, pagesPerSecond: 100_000 }
const never = new AbortController().signal

/** A list with scripted answers, each VM on a page of its own; the last one is repeated. */
function scripted(...answers: (readonly string[] | Error)[]) {
  const state = { calls: 0 }
  const vms = new VmList(
    async function* (): AsyncGenerator<readonly VirtualMachine[]> {
      const answer = answers[Math.min(state.calls++, answers.length - 1)] ?? []
      if (answer instanceof Error) throw answer
      for (const name of answer) yield [{ name, location: 'westus2' }]
    },
    standing(),
    pace,
  )
  return { vms, state }
}

describe('the shared list', () => {
  it('is read once for all waits', async () => {
    const { vms, state } = scripted(['a', 'b'])
    const seen = await Promise.all(
      Array.from({ length: 50 }, () => vms.waitFor((snapshot) => snapshot.get('a')?.name, never)),
    )
    expect(new Set(seen)).toEqual(new Set(['a']))
    // One for the first wait, one for those that came while it was being read.
    expect(state.calls).toBeLessThanOrEqual(2)
  })

  it('is read again until what is waited for is there, also after an error', async () => {
    const { vms, state } = scripted(['a'], new Error('ARM is away'), ['a'], [])
    expect(await vms.waitFor((snapshot) => (snapshot.has('a') ? undefined : 'gone'), never)).toBe('gone')
    expect(state.calls).toBe(4)
  })

  it('is not read without a wait', async () => {
    const { vms, state } = scripted([])
    await vms.waitFor(() => true, never)
    const before = state.calls
    await new Promise((resolve) => setTimeout(resolve, 5 * pace.slowestMs))
    expect(state.calls).toBe(before)
  })

  it('lets a wait be cancelled without ending the others', async () => {
    const { vms } = scripted([], [], [], ['a'])
    const cancelled = new AbortController()
    const lost = vms.waitFor((snapshot) => snapshot.get('never'), cancelled.signal)
    const kept = vms.waitFor((snapshot) => snapshot.get('a')?.name, never)
    cancelled.abort(new Error('stop'))
    await expect(lost).rejects.toThrow('stop')
    expect(await kept).toBe('a')
  })

  it('is read less often the more pages it has', async () => {
    const times: number[] = []
    const vms = new VmList(
      async function* (): AsyncGenerator<readonly VirtualMachine[]> {
        times.push(performance.now())
        for (let page = 0; page < 10; page++) yield []
      },
      standing(),
      { fastestMs: 1, slowestMs: 4, pagesPerSecond: 200 },
    )
    const three = vms.waitFor(() => (times.length === 3 ? true : undefined), never)
    // A wait that comes meanwhile makes it no faster.
    const soon = new Promise((resolve) => setTimeout(resolve, 5)).then(() =>
      vms.waitFor(() => times.length > 2 || undefined, never),
    )
    await Promise.all([three, soon])
    const [first = 0, second = 0, third = 0] = times
    expect(second - first).toBeGreaterThanOrEqual(48)
    expect(third - second).toBeGreaterThanOrEqual(48)
  })

  it('is read once in an interval also when each wait ends before the next begins', async () => {
    const times: number[] = []
    const vms = new VmList(
      async function* (): AsyncGenerator<readonly VirtualMachine[]> {
        times.push(performance.now())
        yield []
      },
      standing(),
      { fastestMs: 40, slowestMs: 80, pagesPerSecond: 100_000 },
    )
    for (let count = 0; count < 4; count++) await vms.waitFor(() => true, never)
    for (const [index, at] of times.entries())
      if (index > 0) expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(38)
    expect(times).toHaveLength(4)
  })

  it('goes on for the others when the activity ends in which it began', async () => {
    const { vms } = scripted([], [], ['a'])
    const storage = new AsyncLocalStorage<string>()
    const seen: (string | undefined)[] = []
    const wait = storage.run('an activity', () =>
      vms.waitFor((snapshot) => {
        seen.push(storage.getStore())
        return snapshot.get('a')
      }, never),
    )
    await wait
    expect(seen).toEqual([undefined, undefined, undefined])
  })

  it('passes to a wait what its observer threw', async () => {
    const { vms } = scripted(['a'])
    await expect(
      vms.waitFor(() => {
        throw new Error('wrong')
      }, never),
    ).rejects.toThrow('wrong')
  })

  it('that never ends is named, given up and read again; the waits go on', async () => {
    vi.useFakeTimers()
    try {
      const late = standing()
      let lists = 0
      const vms = new VmList(
        async function* (): AsyncGenerator<readonly VirtualMachine[]> {
          lists += 1
          yield [{ name: 'a', location: 'westus2' }]
          if (lists === 1) await new Promise<never>(() => {})
        },
        late,
        { fastestMs: 500, slowestMs: 5000, pagesPerSecond: 100 },
      )
      const seen = vms.waitFor((snapshot) => snapshot.get('a')?.name, never)
      await vi.advanceTimersByTimeAsync(299_999)
      expect([lists, late.waitedMs]).toEqual([1, 299_999])
      await vi.advanceTimersByTimeAsync(5001)
      expect(await seen).toBe('a')
      expect([lists, late.waitedMs]).toEqual([2, 0])
    } finally {
      vi.useRealTimers()
    }
  })
})
