import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import { RefusalStore } from './refusal-store.ts'

useFakeTime()

test('a write that failed is tried again after a while, and after the clock was set back at once', async () => {
  const { client } = new FakeCluster()
  const mergePatch = vi.spyOn(client, 'mergePatch').mockRejectedValue(new Error('the API server is away'))
  const deps = {
    client,
    namespace: 'joiner',
    log: pino({ level: 'silent' }),
    now: () => Date.now(),
  }
  const rightMs = Date.now()
  const store = new RefusalStore()
  const save = async () => {
    store.save(deps, new Map())
    await pass(0)
    return mergePatch.mock.calls.length
  }
  vi.setSystemTime(rightMs + 31 * 86_400_000)
  store.changed('web')
  expect([await save(), await save()]).toEqual([1, 1])
  vi.setSystemTime(rightMs)
  expect([await save(), await save()]).toEqual([2, 2])
  await pass(5000)
  expect(await save()).toBe(3)
})
