import type { VirtualMachine } from '@azure/arm-compute'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { VmList } from './vm-list.ts'

const log = pino({ level: 'silent' })
const pace = { fastestMs: 1, slowestMs: 4 }
const never = new AbortController().signal

/** A list whose answers are given one by one; the last one is repeated. */
function scripted(...answers: (readonly string[] | Error)[]) {
  const state = { calls: 0 }
  const vms = new VmList(
    async function* (): AsyncGenerator<VirtualMachine> {
      const answer = answers[Math.min(state.calls++, answers.length - 1)] ?? []
      if (answer instanceof Error) throw answer
      for (const name of answer) yield { name, location: 'westus2' }
    },
    log,
    pace,
  )
  return { vms, state }
}

describe('the shared list', () => {
  it('is read once for all who wait', async () => {
    const { vms, state } = scripted(['a', 'b'])
    const seen = await Promise.all(
      Array.from({ length: 50 }, () => vms.waitFor((snapshot) => snapshot.get('a')?.name, never)),
    )
    expect(new Set(seen)).toEqual(new Set(['a']))
    // One for the first who came, one for those who came while it was being read.
    expect(state.calls).toBeLessThanOrEqual(2)
  })

  it('is read again until what is waited for is there, also after an error', async () => {
    const { vms, state } = scripted(['a'], new Error('ARM is away'), ['a'], [])
    expect(await vms.waitFor((snapshot) => (snapshot.has('a') ? undefined : 'gone'), never)).toBe('gone')
    expect(state.calls).toBe(4)
  })

  it('is not read while nobody waits', async () => {
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

  it('tells a wait what its look threw', async () => {
    const { vms } = scripted(['a'])
    await expect(
      vms.waitFor(() => {
        throw new Error('wrong')
      }, never),
    ).rejects.toThrow('wrong')
  })
})
