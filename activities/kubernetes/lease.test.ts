import { describe, expect, test } from 'vitest'
import type { Json } from './client/answers.ts'
import { ApiError } from './client/api-error.ts'
import { Lease } from './lease.ts'

/** One Lease object behind an API server with optimistic locks. Time in the cluster advances by `passMs`. */
class FakeApi {
  nowMs = 0
  object: Json | undefined
  writes = 0
  reads = 0

  get = async (): Promise<Json> => {
    this.reads += 1
    if (this.object === undefined) throw new ApiError(404, 'NotFound', 'no lease')
    return structuredClone(this.object)
  }

  create = async (_path: string, body: Json): Promise<Json> => {
    if (this.object !== undefined) throw new ApiError(409, 'AlreadyExists', 'there is one')
    return this.#store(body)
  }

  mergePatch = async (_path: string, body: Json): Promise<Json> => {
    if (this.object === undefined) throw new ApiError(404, 'NotFound', 'no lease')
    const version = (body['metadata'] as { resourceVersion: string }).resourceVersion
    if ((this.object as { metadata: { resourceVersion: string } }).metadata.resourceVersion !== version)
      throw new ApiError(409, 'Conflict', 'changed')
    return this.#store(body)
  }

  #store(body: Json): Json {
    this.writes += 1
    this.object = { spec: body['spec'], metadata: { resourceVersion: String(this.writes) } }
    return this.object
  }
}

const name = 'joiner-bridge'

/** A process whose monotonic clock began elsewhere, and whose wall clock is off by so much. */
function processOf(api: FakeApi, identity: string, startedMs = 0): Lease {
  return new Lease(
    { client: api, namespace: 'joiner' },
    { name, identity, durationSeconds: 10, monotonicMs: () => api.nowMs + startedMs },
  )
}

/** Puts into the object what a holder with a wrong clock would have written. */
function shiftRenewTime(api: FakeApi, byMs: number): void {
  const spec = api.object?.['spec'] as { renewTime: string }
  spec.renewTime = new Date(Date.parse(spec.renewTime) + byMs).toISOString()
}

describe.each([-60_000, -10_000, 0, 10_000, 60_000])('with a holder whose clock is off by %d ms', (skewMs) => {
  test('a renewed lease is not taken by another, and it is taken 10 s after the last renewal was seen', async () => {
    const api = new FakeApi()
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

test('two processes with any interleaving of attempts and pauses never hold it at once', async () => {
  const api = new FakeApi()
  const all = [processOf(api, 'a'), processOf(api, 'b', 5e5), processOf(api, 'c', 9e8)]
  let seed = 7
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  let changes = 0
  for (let step = 0; step < 5000; step++) {
    api.nowMs += next(5000)
    if ((await all[next(3)]?.tryHold()) === 'taken') changes += 1
    expect(all.filter(({ validMs }) => validMs > 0).length).toBeLessThanOrEqual(1)
  }
  expect(changes).toBeGreaterThan(100)
})

test('a holder that was away for longer than the duration takes the lease again, though no other process did', async () => {
  const api = new FakeApi()
  const lease = processOf(api, 'first')
  expect(await lease.tryHold()).toBe('taken')
  api.nowMs += 10_000
  expect(lease.validMs).toBe(0)
  expect(await lease.tryHold()).toBe('taken')
})

test('a lease that is held is renewed by a write alone; what somebody has changed, deleted or taken is read', async () => {
  const api = new FakeApi()
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
  api.object = { ...api.object, metadata: { resourceVersion: 'edited' } }
  expect(await next()).toEqual(['renewed', 1])
  api.object = undefined
  expect(await next()).toEqual(['renewed', 1])
  await other.seize()
  expect(await next()).toEqual(['other', 1])
  expect(await next()).toEqual(['other', 1])
})

test('a process of the same name goes on with the lease at once', async () => {
  const api = new FakeApi()
  await processOf(api, 'joiner-0').tryHold()
  expect(await processOf(api, 'joiner-0').tryHold()).toBe('taken')
})

test('a lease that was given up is taken at once, and its last holder is not valid any more', async () => {
  const api = new FakeApi()
  const [first, second] = [processOf(api, 'first'), processOf(api, 'second')]
  await first.tryHold()
  await first.release()
  expect(first.validMs).toBe(0)
  expect(await second.tryHold()).toBe('taken')
})

test('of two that take it at once one wins', async () => {
  const api = new FakeApi()
  const [first, second] = [processOf(api, 'first'), processOf(api, 'second')]
  const results = await Promise.all([first.tryHold(), second.tryHold()])
  expect(results.toSorted()).toEqual(['other', 'taken'])
})

test('a lease without a holder, as a user may have written it, is taken', async () => {
  const api = new FakeApi()
  api.object = { metadata: { resourceVersion: '0' }, spec: {} }
  expect(await processOf(api, 'first').tryHold()).toBe('taken')
})
