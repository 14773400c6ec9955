import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { type LateEntry, LateLists, readLateLists } from './late-list.ts'

useFakeTime()

/** The lists of a process, beside a ConfigMap. */
function lists() {
  const data = new Map<string, string>()
  const client = {
    get: async () => ({ data: Object.fromEntries(data) }),
    mergePatch: async (_: string, body: { readonly data: Readonly<Record<string, string | null>> }) => {
      for (const [key, value] of Object.entries(body.data))
        if (value === null) data.delete(key)
        else data.set(key, value)
      return { data: Object.fromEntries(data) }
    },
  } as unknown as KubernetesClient
  const registry = new Registry()
  const all = new LateLists(
    { client, namespace: 'joiner', log: pino({ level: 'silent' }), now: () => Date.now() },
    registry,
  )
  const read = (): Promise<readonly LateEntry[]> => readLateLists({ client, namespace: 'joiner' }, Date.now())
  const metric = async () => /joiner_azure_list_wait_seconds\{list="VMs"\} (\d+)/.exec(await registry.metrics())?.[1]
  return { list: all.of('VMs'), data, read, metric }
}

test('a list that does not come for a minute is reported, until it comes', async () => {
  const { list, read, metric } = lists()
  list.needed()
  await pass(30_000)
  list.failed(new Error('GET /vms: the body of the answer stalled for 15 s\u001b'))
  list.needed()
  await pass(29_999)
  expect(await read()).toEqual([])
  const sinceMs = Date.now() - 59_999
  await pass(1)
  expect(await read()).toEqual([
    {
      list: 'VMs',
      sinceMs,
      atMs: sinceMs + 60_000,
      process: expect.any(String),
      why: 'GET /vms: the body of the answer stalled for 15 s\\u001b',
    },
  ])
  await pass(60_000)
  expect(await read()).toMatchObject([{ sinceMs, atMs: sinceMs + 120_000 }])
  expect(await metric()).toBe('120')
  list.settled()
  await pass(0)
  expect([await read(), await metric()]).toEqual([[], '0'])
})

test('a list that comes, or that nothing waits for, is not late', async () => {
  const { list, data } = lists()
  for (let time = 0; time < 5; time++) {
    list.needed()
    await pass(59_000)
    list.settled()
    await pass(120_000)
  }
  expect(data.size).toBe(0)
})

test('what a process left that has ended is not reported, nor is garbage', async () => {
  const { list, data, read } = lists()
  list.needed()
  await pass(60_000)
  data.set('other', 'null')
  data.set('another', '{"list":1}')
  const odd = { list: 'VMs', process: 'x', why: 'y' }
  data.set('later', JSON.stringify({ ...odd, sinceMs: 1e308, atMs: Date.now() }))
  data.set('never', JSON.stringify({ ...odd, sinceMs: 0, atMs: 1e308 }))
  expect(await read()).toHaveLength(1)
  const [entry] = await read()
  list.settled()
  data.set('VMs', JSON.stringify(entry))
  await pass(180_000)
  expect(await read()).toEqual([])
})
