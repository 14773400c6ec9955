import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { KubernetesClient } from '../kubernetes/client/client.ts'
import { Fence, FenceLostError } from './fence.ts'

/** One Lease object, as the API server keeps it. */
const lease = { metadata: { resourceVersion: '1' }, spec: { holderIdentity: '' } }
const client = {
  get: async () => lease,
  mergePatch: async (_path: string, { spec }: { spec: typeof lease.spec }) => Object.assign(lease, { spec }),
} as unknown as KubernetesClient

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000_000 }))
afterEach(() => void vi.useRealTimers())

const take = () => Fence.take({ client, namespace: 'joiner' }, 'joiner-planner-fence', 'provisioning/1')

test('is fresh for 3 s', async () => {
  const fence = await take()
  expect(fence.isFresh).toBe(true)
  vi.advanceTimersByTime(2999)
  expect(fence.isFresh).toBe(true)
  vi.advanceTimersByTime(1)
  expect(fence.isFresh).toBe(false)
})

test('reads the Lease before each write once its process gives up planning', async () => {
  const stop = new AbortController()
  const fence = (await take()).until(stop.signal)
  expect(fence.isFresh).toBe(true)
  stop.abort()
  lease.spec = { holderIdentity: 'successor' }
  await expect(fence.checkIfStale()).rejects.toThrow(FenceLostError)
})

test.each([-60_000, -1, 3000, 60_000])('a wall clock that was set by %d ms requires a read', async (byMs) => {
  const fence = await take()
  vi.setSystemTime(Date.now() + byMs)
  expect(fence.isFresh).toBe(false)
  await fence.checkIfStale()
  expect(fence.isFresh).toBe(true)
})

test('an attempt that was stopped finds its successor, also when the wall clock was set back meanwhile', async () => {
  const fence = await take()
  lease.spec = { holderIdentity: 'second' }
  vi.advanceTimersByTime(60_000)
  vi.setSystemTime(1_000_000_000)
  await expect(fence.checkIfStale()).rejects.toThrow(FenceLostError)
})
