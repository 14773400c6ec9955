import { describe, expect, test, vi } from 'vitest'
import { ended, pass, useFakeTime } from '../../test/fakes/time.ts'
import { LeaseApi, SlowLeaseApi } from '../../test/ownership/lease-api.ts'
import { pauseOf } from '../abortable-wait.ts'
import type { Json } from './client/answers.ts'
import { Lease } from './lease.ts'
import type { Peers } from './peers.ts'

const name = 'joiner-bridge'

/** A process whose monotonic clock began elsewhere, and whose wall clock is off by so much. */
function processOf(api: LeaseApi, identity: string, startedMs = 0, peers?: Peers): Lease {
  const options = { name, identity, durationSeconds: 10, monotonicMs: () => api.nowMs + startedMs }
  return new Lease({ client: api, namespace: 'joiner' }, peers === undefined ? options : { ...options, peers })
}

/** Machines that answer for processes at their addresses: by accepting, by refusing, or not at all. */
class Addresses {
  readonly #answers = new Map<string, 'accepts' | 'refuses' | 'is silent'>()
  readonly #open: { readonly address: string; readonly close: () => void }[] = []

  /** `breaks`: what is open to the address is closed. */
  answer(address: string, how: 'accepts' | 'refuses' | 'is silent', breaks = true): void {
    this.#answers.set(address, how)
    for (const connection of this.#open) if (breaks && connection.address === address) connection.close()
  }

  peersOf(address: string | undefined): Peers {
    return {
      address,
      connect: async (to) => {
        const how = this.#answers.get(to) ?? 'is silent'
        const code = how === 'refuses' ? 'ECONNREFUSED' : 'ETIMEDOUT'
        if (how !== 'accepts') throw Object.assign(new Error(code), { code })
        const broken = new AbortController()
        const close = () => broken.abort()
        this.#open.push({ address: to, close })
        return { broken: broken.signal, close }
      },
    }
  }
}

/** Puts into the object what a holder with a wrong clock would have written. */
function shiftRenewTime(api: LeaseApi, byMs: number): void {
  const spec = api.object?.['spec'] as { renewTime: string }
  spec.renewTime = new Date(Date.parse(spec.renewTime) + byMs).toISOString()
}

describe.each([-60_000, -10_000, 0, 10_000, 60_000])('with a holder whose clock is off by %d ms', (skewMs) => {
  test('a renewed lease is not taken by another, and it is taken 10 s after the last renewal was seen', async () => {
    const api = new LeaseApi()
    const [first, second] = [processOf(api, 'first'), processOf(api, 'second', 1e6)]
    expect(await first.tryHold()).toBe('taken')
    for (let step = 0; step < 20; step++) {
      shiftRenewTime(api, skewMs)
      expect(await second.tryHold()).toBe('other')
      expect([first.validMs > 0, second.validMs > 0]).toEqual([true, false])
      api.nowMs += 3000
      expect(await first.tryHold()).toBe('renewed')
    }
    shiftRenewTime(api, skewMs)
    const diedAt = api.nowMs
    while ((await second.tryHold()) === 'other') api.nowMs += 1000
    expect(api.nowMs - diedAt).toBe(10_000)
    expect([first.validMs > 0, second.validMs > 0]).toEqual([false, true])
  })
})

function draws(seed: number): (below: number) => number {
  let last = seed
  return (below) => {
    last = (last * 1_103_515_245 + 12_345) % 2_147_483_648
    return last % below
  }
}

test('two processes with any interleaving of attempts and pauses never hold it at once', async () => {
  const api = new LeaseApi()
  const all = [processOf(api, 'a'), processOf(api, 'b', 5e5), processOf(api, 'c', 9e8)]
  const next = draws(7)
  let changes = 0
  for (let step = 0; step < 5000; step++) {
    api.nowMs += next(5000)
    if ((await all[next(3)]?.tryHold()) === 'taken') changes += 1
    expect(all.filter(({ validMs }) => validMs > 0).length).toBeLessThanOrEqual(1)
  }
  expect(changes).toBeGreaterThan(100)
})

test('a holder that was away for longer than the duration takes the lease again, though no other process did', async () => {
  const api = new LeaseApi()
  const lease = processOf(api, 'first')
  expect(await lease.tryHold()).toBe('taken')
  api.nowMs += 10_000
  expect(lease.validMs).toBe(0)
  expect(await lease.tryHold()).toBe('taken')
})

test('a lease that is held is renewed by a write alone; what somebody has changed, deleted or taken is read', async () => {
  const api = new LeaseApi()
  const [lease, other] = [processOf(api, 'first'), processOf(api, 'second')]
  const next = async () => {
    api.nowMs += 3000
    const before = api.reads
    return [await lease.tryHold(), api.reads - before]
  }
  await lease.tryHold()
  expect([await next(), await next()]).toEqual([
    ['renewed', 0],
    ['renewed', 0],
  ])
  api.object = { ...api.object, metadata: { resourceVersion: '100' } }
  expect(await next()).toEqual(['renewed', 1])
  api.object = undefined
  expect(await next()).toEqual(['renewed', 1])
  await other.seize()
  expect(await next()).toEqual(['other', 1])
  expect(await next()).toEqual(['other', 1])
})

test('a process of the same name goes on with the lease at once', async () => {
  const api = new LeaseApi()
  await processOf(api, 'joiner-0').tryHold()
  expect(await processOf(api, 'joiner-0').tryHold()).toBe('taken')
})

test('a lease that was given up is taken at once, and its last holder is not valid any more', async () => {
  const api = new LeaseApi()
  const [first, second] = [processOf(api, 'first'), processOf(api, 'second')]
  await first.tryHold()
  await first.release()
  expect(first.validMs).toBe(0)
  expect(await second.tryHold()).toBe('taken')
})

test('of two that take it at once one wins', async () => {
  const api = new LeaseApi()
  const [first, second] = [processOf(api, 'first'), processOf(api, 'second')]
  const results = await Promise.all([first.tryHold(), second.tryHold()])
  expect(results.toSorted()).toEqual(['other', 'taken'])
})

test('a lease without a holder, as a user may have written it, is taken', async () => {
  const api = new LeaseApi()
  api.object = { metadata: { resourceVersion: '0' }, spec: {} }
  expect(await processOf(api, 'first').tryHold()).toBe('taken')
})

describe('a process that stands by and is connected to the holder', () => {
  async function standingBy() {
    const [api, addresses] = [new LeaseApi(), new Addresses()]
    addresses.answer('first:1', 'accepts')
    const first = processOf(api, 'first', 0, addresses.peersOf('first:1'))
    const second = processOf(api, 'second', 1e6, addresses.peersOf('second:1'))
    expect(await first.tryHold()).toBe('taken')
    expect(await second.tryHold()).toBe('other')
    return { api, addresses, first, second }
  }

  test('takes the lease when the connection breaks and is then refused, and says that its holder is dead', async () => {
    const { api, addresses, first, second } = await standingBy()
    addresses.answer('first:1', 'refuses')
    // Were it alive it would renew the lease by then.
    for (; api.nowMs < 2500; api.nowMs += 500) expect(await second.tryHold()).toBe('other')
    expect(await second.tryHold()).toBe('taken')
    expect([second.takenFrom, second.tookFromDead]).toEqual(['first', true])
    // The holder, were it alive, sees it at its next look.
    expect(await first.tryHold()).toBe('other')
    expect(api.object).toMatchObject({ metadata: { annotations: { 'joiner.sh/address': 'second second:1' } } })
  })

  test('says with its renewals, and only while it is so, how the API server holds it up', async () => {
    const api = new LeaseApi()
    const lease = processOf(api, 'first')
    const said: unknown[] = []
    for (const heldUp of [undefined, { limit: 8, waiting: 120 }, undefined]) {
      api.heldUp = heldUp
      await lease.tryHold()
      said.push((api.object as { metadata: { annotations: Json } }).metadata.annotations['joiner.sh/held-up'])
    }
    expect(said).toEqual([undefined, 'first 8 120', undefined])
    expect(api.writes).toBe(3)
  })

  test('looks seldom while it is connected, in time for the end of the lease, and soon once the connection breaks', async () => {
    const { api, addresses, second } = await standingBy()
    expect(second.nextLook).toMatchObject({ withinMs: 2000, sooner: { aborted: false } })
    api.nowMs += 9000
    expect(second.nextLook.withinMs).toBe(1000)
    const { sooner } = second.nextLook
    addresses.answer('first:1', 'refuses')
    expect(sooner?.aborted).toBe(true)
    expect(second.nextLook).toEqual({ withinMs: 500 })
    expect(processOf(api, 'third').nextLook).toEqual({ withinMs: 500 })
  })

  test('waits until it runs out where it must not take it from the dead', async () => {
    const { api, addresses } = await standingBy()
    const options = { name, identity: 'third', durationSeconds: 10, monotonicMs: () => api.nowMs }
    const third = new Lease(
      { client: api, namespace: 'joiner' },
      { ...options, peers: addresses.peersOf('third:1'), takesFromDead: false },
    )
    expect(await third.tryHold()).toBe('other')
    addresses.answer('first:1', 'refuses')
    for (; api.nowMs < 10_000; api.nowMs += 500) expect(await third.tryHold()).toBe('other')
    expect(await third.tryHold()).toBe('taken')
    expect(third.tookFromDead).toBe(false)
  })

  test.each([
    ['silence', 'is silent', true],
    ['a new connection', 'accepts', true],
    ['a refusal while the connection is open', 'refuses', false],
  ] as const)('waits until it runs out after %s', async (_, answer, breaks) => {
    const { api, addresses, second } = await standingBy()
    addresses.answer('first:1', answer, breaks)
    for (; api.nowMs < 10_000; api.nowMs += 500) expect(await second.tryHold()).toBe('other')
    expect(await second.tryHold()).toBe('taken')
    expect([second.takenFrom, second.tookFromDead]).toEqual(['first', false])
  })

  test('has no proof where it was never connected', async () => {
    const { api, addresses } = await standingBy()
    addresses.answer('first:1', 'refuses')
    const third = processOf(api, 'third', 2e6, addresses.peersOf('third:1'))
    for (; api.nowMs < 10_000; api.nowMs += 500) expect(await third.tryHold()).toBe('other')
  })

  test('takes nothing from a process that came back in its place and renewed it meanwhile', async () => {
    const { api, addresses } = await standingBy()
    const connect = addresses.peersOf(undefined).connect
    const again = processOf(api, 'first', 3e6, addresses.peersOf('first:1'))
    const looks = processOf(api, 'third', 4e6, {
      address: 'third:1',
      // Between its look at the address and its write the other one starts.
      connect: async (address) => {
        const refused = connect(address)
        await refused.catch(() => again.tryHold())
        return refused
      },
    })
    expect(await looks.tryHold()).toBe('other')
    addresses.answer('first:1', 'refuses')
    api.nowMs += 3000
    expect(await looks.tryHold()).toBe('other')
    expect(api.object).toMatchObject({ spec: { holderIdentity: 'first' } })
  })

  test('takes nothing from a process that renews it while its address refuses', async () => {
    const { api, addresses, first, second } = await standingBy()
    addresses.answer('first:1', 'refuses')
    for (let look = 0; look < 40; look++, api.nowMs += 500) {
      if (look % 4 === 0) expect(await first.tryHold()).toBe('renewed')
      expect(await second.tryHold()).toBe('other')
    }
  })

  test('does not ask an address that a holder of before had', async () => {
    const { api, addresses, first } = await standingBy()
    await first.release()
    // It tells no address, and leaves the other one's.
    const before = (api.object as { metadata: { annotations: Json } }).metadata.annotations
    expect(await processOf(api, 'older').tryHold()).toBe('taken')
    const { metadata } = api.object as { metadata: { annotations: Json } }
    metadata.annotations = before
    const third = processOf(api, 'third', 2e6, addresses.peersOf('third:1'))
    expect(await third.tryHold()).toBe('other')
    addresses.answer('first:1', 'refuses')
    api.nowMs += 3000
    expect(await third.tryHold()).toBe('other')
  })
})

describe('a Lease that somebody else wrote', () => {
  const foreign = (spec: Json) => ({
    metadata: { resourceVersion: '100' },
    spec: { holderIdentity: 'evil', renewTime: '2026-01-01T00:00:00.000000Z', ...spec },
  })

  test.each([
    ['for 68 years counts for the own duration', 2_147_483_647, 10_000],
    ['for less counts for that', 4, 4000],
  ])('%s', async (_, leaseDurationSeconds, expectedMs) => {
    const api = new LeaseApi()
    api.object = foreign({ leaseDurationSeconds })
    const lease = processOf(api, 'first')
    while ((await lease.tryHold()) === 'other') api.nowMs += 500
    expect([api.nowMs, lease.takenFrom]).toEqual([expectedMs, 'evil'])
  })

  test('is named with the time for which it has been seen, until it is taken', async () => {
    const api = new LeaseApi()
    api.object = foreign({})
    const lease = processOf(api, 'first')
    expect(lease.heldBy).toBeUndefined()
    for (let renewal = 0; renewal < 9; renewal++, api.nowMs += 9000) {
      api.object = { ...api.object, metadata: { resourceVersion: `${200 + renewal}` } }
      expect(await lease.tryHold()).toBe('other')
    }
    expect(lease.heldBy).toEqual({ holder: 'evil', heldMs: 81_000 })
    api.object = { ...foreign({ holderIdentity: 'another' }) }
    expect(await lease.tryHold()).toBe('other')
    expect(lease.heldBy).toEqual({ holder: 'another', heldMs: 0 })
    api.nowMs += 10_000
    expect(await lease.tryHold()).toBe('taken')
    expect(lease.heldBy).toBeUndefined()
  })
})

test('the object says since when its holder has it', async () => {
  const api = new LeaseApi()
  const [first, second] = [processOf(api, 'first'), processOf(api, 'second')]
  const times = () => api.object?.['spec'] as { readonly acquireTime: string; readonly renewTime: string }
  vi.useFakeTimers({ now: 0, toFake: ['Date'] })
  try {
    await first.tryHold()
    vi.setSystemTime(5000)
    await first.tryHold()
    expect(times()).toMatchObject({
      acquireTime: '1970-01-01T00:00:00.000000Z',
      renewTime: '1970-01-01T00:00:05.000000Z',
    })
    await second.seize()
    expect(times()).toMatchObject({ acquireTime: '1970-01-01T00:00:05.000000Z' })
  } finally {
    vi.useRealTimers()
  }
})

describe('with an API server that is slow', () => {
  useFakeTime()

  const processOn = (api: LeaseApi, identity: string) =>
    new Lease({ client: api, namespace: 'joiner' }, { name, identity, durationSeconds: 10, requestMs: 2500 })

  /** Holds or renews it again and again, as `whileHeld` does. */
  async function keepTrying(lease: Lease, pauseMs: () => number): Promise<never> {
    for (;;) {
      await lease.tryHold().catch(() => undefined)
      await pauseOf(pauseMs(), new AbortController().signal)
    }
  }

  test('whose answers come later than is waited for, a holder keeps the lease', async () => {
    let waitMs = 0
    const lease = processOn(new SlowLeaseApi(() => waitMs), 'first')
    void keepTrying(lease, () => 2000)
    await pass(100)
    waitMs = 1800
    for (let passedMs = 0; passedMs < 120_000; passedMs += 100) {
      await pass(100)
      expect(lease.validMs).toBeGreaterThan(0)
    }
  })

  test('a holder that meets a write of its own, for which it had not waited, still has the lease', async () => {
    const waitsMs = [0, 0, 0, 0, 3000, 0, 0, 0, 600]
    const lease = processOn(new SlowLeaseApi(() => waitsMs.shift() ?? 0), 'first')
    const holding = () => ended(lease.tryHold().catch(({ message }: Error) => message))
    expect(await holding()).toBe('taken')
    expect(await holding()).toBe('Lease joiner-bridge: the API server has not answered for 2500 ms')
    expect([await holding(), waitsMs]).toEqual(['renewed', []])
  })

  test('two never hold it at once, however late requests and answers are', async () => {
    const next = draws(11)
    const api = new SlowLeaseApi(() => next(4000) * (next(3) === 0 ? 1 : 0.1))
    const all = ['a', 'b', 'c'].map((identity) => processOn(api, identity))
    for (const lease of all) void keepTrying(lease, () => (next(40) === 0 ? 15_000 : next(2500)))
    let [held, changes, before] = [0, 0, '']
    for (let step = 0; step < 20_000; step++) {
      await pass(250)
      const holders = all.flatMap(({ validMs }, index) => (validMs > 0 ? [`${index}`] : []))
      expect(holders.length).toBeLessThanOrEqual(1)
      held += holders.length
      if (holders[0] !== undefined && holders[0] !== before) [changes, before] = [changes + 1, holders[0]]
    }
    expect([held > 10_000, changes > 30]).toEqual([true, true])
  })
})
