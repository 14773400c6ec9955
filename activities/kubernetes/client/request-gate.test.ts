import { describe, expect, test, vi } from 'vitest'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { RequestGate } from './request-gate.ts'

useFakeTime()

const failed = () => true

/** A server that works on `cores` requests at a time, `ms` each, and on the others in turn. */
function server({ cores, ms }: { readonly cores: number; readonly ms: number }) {
  const state = { inFlight: 0, most: 0, refuses: false }
  return {
    state,
    send: async () => {
      state.inFlight += 1
      state.most = Math.max(state.most, state.inFlight)
      await new Promise((resolve) => setTimeout(resolve, ms * Math.max(1, state.inFlight / cores)))
      state.inFlight -= 1
      if (state.refuses) throw new Error('overload')
    },
  }
}

async function flood(gate: RequestGate, send: () => Promise<void>, count: number): Promise<void> {
  const all = Array.from({ length: count }, (_, at) =>
    gate.through({ kind: 'PATCH nodes', turn: { at } }, send, failed),
  )
  const done = Promise.allSettled(all)
  await vi.runAllTimersAsync()
  await done
}

const newGate = (waited?: (seconds: number) => void) =>
  new RequestGate({ now: () => Date.now(), ...(waited && { waited }) })

describe('the gate of requests', () => {
  test('lets through at once what a server answers soon, and more the longer it does', async () => {
    const gate = newGate()
    const { send, state } = server({ cores: 1000, ms: 5 })
    await flood(gate, send, 5000)
    expect(state.most).toBe(64)
    expect(gate.state).toEqual({ limit: 64, waiting: 0 })
  })

  test('sends few at a time to a server that more of them only delays, and more again once it keeps up', async () => {
    const gate = newGate()
    const slow = server({ cores: 2, ms: 40 })
    await flood(gate, slow.send, 20)
    await flood(gate, slow.send, 3000)
    expect(gate.state.limit).toBeLessThan(16)
    await flood(gate, server({ cores: 1000, ms: 5 }).send, 5000)
    expect(gate.state.limit).toBe(64)
  })

  test('says so while requests wait for a server that only few of them do not delay, and not for one that keeps up', async () => {
    const gate = newGate()
    const seen = async (send: () => Promise<void>, count: number) => {
      let held: typeof gate.heldUp
      await flood(gate, () => ((held ??= gate.heldUp), send()), count)
      return held
    }
    expect(await seen(server({ cores: 1000, ms: 5 }).send, 5000)).toBeUndefined()
    const { send } = server({ cores: 2, ms: 40 })
    await flood(gate, send, 20)
    expect(await seen(send, 3000)).toMatchObject({ limit: expect.any(Number), waiting: expect.any(Number) })
    expect(gate.heldUp).toBeUndefined()
  })

  test('of a server that is far away, or has slow webhooks, expects no better', async () => {
    const gate = newGate()
    await flood(gate, server({ cores: 1000, ms: 900 }).send, 5000)
    expect(gate.state.limit).toBe(64)
  })

  test('falls to its floor while the server is overloaded, and never below', async () => {
    const gate = newGate()
    const { send, state } = server({ cores: 1000, ms: 500 })
    state.refuses = true
    await flood(gate, send, 1000)
    expect(gate.state.limit).toBe(8)
  })

  test('of a server that answers nothing, what waits fails with the first to find it, and later ones ask it anew', async () => {
    const gate = newGate()
    const silent = server({ cores: 1000, ms: 10_000 })
    silent.state.refuses = true
    const send = vi.fn(silent.send)
    const startMs = Date.now()
    await flood(gate, send, 500)
    expect([send.mock.calls.length, Date.now() - startMs]).toEqual([32, 10_000])
    await flood(gate, send, 100)
    expect([send.mock.calls.length, Date.now() - startMs]).toEqual([32 + 24, 20_000])
    await flood(gate, server({ cores: 1000, ms: 5 }).send, 100)
    expect(gate.state.waiting).toBe(0)
  })

  test('one answer among those that come to nothing keeps what waits', async () => {
    const gate = newGate()
    const silent = server({ cores: 1000, ms: 10_000 })
    silent.state.refuses = true
    let sent = 0
    const late = server({ cores: 1000, ms: 10_000 })
    await flood(gate, () => (++sent % 8 === 0 ? late : silent).send(), 200)
    expect(sent).toBe(200)
  })

  test('answers that say no are answers', async () => {
    const gate = newGate()
    const { send, state } = server({ cores: 1000, ms: 5 })
    state.refuses = true
    const all = Array.from({ length: 500 }, () =>
      gate.through({ kind: 'GET nodes/', turn: { at: 0 } }, send, () => false).catch(() => {}),
    )
    await vi.runAllTimersAsync()
    await Promise.all(all)
    expect(gate.state.limit).toBeGreaterThan(32)
  })

  test('goes by turns: earlier ones first, equal ones as they came', async () => {
    const gate = newGate()
    const order: string[] = []
    const ask = (name: string, turn: number) =>
      gate.through(
        { kind: 'k', turn: { at: turn } },
        async () => {
          order.push(name)
          await new Promise((resolve) => setTimeout(resolve, 10))
        },
        failed,
      )
    const running = Array.from({ length: 32 }, (_, at) => ask(`first ${at}`, 0))
    const waiting = [ask('late', 9), ask('b', 5), ask('c', 5), ask('a', 1)]
    await vi.runAllTimersAsync()
    await Promise.all([...running, ...waiting])
    expect(order.slice(32)).toEqual(['a', 'b', 'c', 'late'])
  })

  test('who is called off while it waits leaves, and takes no place', async () => {
    const waits: number[] = []
    const gate = newGate((seconds) => waits.push(seconds))
    const hanging = Array.from({ length: 32 }, () =>
      gate.through(
        { kind: 'k', turn: { at: 0 } },
        () => new Promise<void>((resolve) => setTimeout(resolve, 1000)),
        failed,
      ),
    )
    const caller = new AbortController()
    const called = gate.through(
      { kind: 'k', turn: { at: 1 }, signal: caller.signal },
      () => Promise.reject(new Error('sent')),
      failed,
    )
    const other = gate.through({ kind: 'k', turn: { at: 2 } }, () => Promise.resolve('other'), failed)
    caller.abort(new Error('called off'))
    await expect(called).rejects.toThrow('called off')
    expect(gate.state.waiting).toBe(1)
    await vi.runAllTimersAsync()
    expect(await other).toBe('other')
    await Promise.all(hanging)
    expect(waits).toEqual([...Array.from({ length: 32 }, () => 0), 1])
    await expect(
      gate.through({ kind: 'k', turn: { at: 1 }, signal: caller.signal }, () => Promise.resolve(), failed),
    ).rejects.toThrow('called off')
  })

  test('what holds a turn sends without another wait; what it leaves behind waits again', async () => {
    const gate = newGate()
    const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 1000))
    const order: string[] = []
    const ask = (name: string) =>
      gate.through({ kind: 'k', turn: { at: 9 } }, async () => void order.push(name), failed)
    let left: Promise<void> | undefined
    const section = gate.hold({ at: 0 }, async () => {
      await ask('read')
      left = new Promise<void>((resolve) => setTimeout(resolve, 10)).then(() => ask('left behind'))
      await ask('write')
    })
    const others = Array.from({ length: 40 }, () => gate.through({ kind: 'k', turn: { at: 1 } }, slow, failed))
    await section
    expect(order).toEqual(['read', 'write'])
    await vi.advanceTimersByTimeAsync(500)
    expect([order.length, gate.state.waiting]).toEqual([2, 40 + 1 - 32])
    await vi.runAllTimersAsync()
    await Promise.all([left, ...others])
    expect(order).toEqual(['read', 'write', 'left behind'])
  })

  test('a section without a turn does not wait, and a section within another one does not either', async () => {
    const gate = newGate()
    const hanging = Array.from({ length: 32 }, () =>
      gate.through(
        { kind: 'k', turn: { at: 0 } },
        () => new Promise<void>((resolve) => setTimeout(resolve, 1000)),
        failed,
      ),
    )
    expect(await gate.hold(undefined, () => Promise.resolve('at once'))).toBe('at once')
    await vi.runAllTimersAsync()
    await Promise.all(hanging)
    expect(await gate.hold({ at: 1 }, () => gate.hold({ at: 1 }, () => Promise.resolve('inner')))).toBe('inner')
  })

  test('a step that is cancelled while it waits leaves; one that was cancelled before still has its writes', async () => {
    const gate = newGate()
    const hanging = Array.from({ length: 32 }, () =>
      gate.hold({ at: 0 }, () => new Promise<void>((resolve) => setTimeout(resolve, 1000))),
    )
    const [earlier, later] = [new AbortController(), new AbortController()]
    earlier.abort(new Error('cancelled earlier'))
    const cleaning = gate.hold({ at: 1, ends: earlier.signal }, () => Promise.resolve('cleaned up'))
    const left = gate.hold({ at: 1, ends: later.signal }, () => Promise.reject(new Error('sent')))
    later.abort(new Error('cancelled'))
    await expect(left).rejects.toThrow('cancelled')
    expect(gate.state.waiting).toBe(1)
    await vi.runAllTimersAsync()
    expect(await cleaning).toBe('cleaned up')
    await Promise.all(hanging)
  })
})
