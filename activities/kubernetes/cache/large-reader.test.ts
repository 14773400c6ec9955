import { pino } from 'pino'
import { expect, test } from 'vitest'
import { ClusterCache } from './cluster-cache.ts'
import { decodePod } from './decode-pod.ts'
import { decoded, LargeReader } from './large-reader.ts'

const log = pino({ level: 'silent' })
const podJson = (name: string, cpu = '1') => ({
  metadata: { name, namespace: 'default', uid: name, resourceVersion: '3', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    containers: [{ name: 'main', resources: { requests: { cpu } } }],
    tolerations: Array.from({ length: 40_000 }, (_, at) => ({ key: `k${at}`, operator: 'Exists' })),
  },
})

test('a large event is decoded as it would be here, and comes back small', async () => {
  const event = { type: 'MODIFIED', object: podJson('p') }
  const read = await new LargeReader(log).read('Pod', JSON.stringify(event))
  expect(read['type']).toBe('MODIFIED')
  const object = decoded('Pod', read['object'] as never)
  expect(object).toEqual(decodePod(event.object))
  expect(JSON.stringify((object as ReturnType<typeof decodePod>).tolerations).length).toBeLessThan(20_000)
})

test('a large list keeps its order, with the size of each item, and one that cannot be read does not hide the others', async () => {
  const items = [podJson('a'), podJson('b', 'many'), podJson('c')]
  const list = JSON.stringify({ metadata: { resourceVersion: '9', continue: 'x' }, items })
  const read = await new LargeReader(log).read('Pod', list)
  expect(read['metadata']).toEqual({ resourceVersion: '9', continue: 'x' })
  expect(read['sizes']).toEqual(items.map((item) => JSON.stringify(item).length))
  const cache = new ClusterCache({} as never, log)
  for (const item of read['items'] as never[]) cache.upsert('Pod', item)
  expect([...cache.pods.values()].map(({ metadata }) => metadata.name)).toEqual(['a', 'c'])
  expect(() => decoded('Pod', (read['items'] as never[])[1] as never)).toThrow('quantity "many"')
})

test('answers reach their callers, and invalid JSON is a separate error', async () => {
  const reader = new LargeReader(log)
  const [first, broken, last] = await Promise.allSettled([
    reader.read('Pod', JSON.stringify({ type: 'ADDED', object: podJson('first') })),
    reader.read('Pod', '{"type":'),
    reader.read(
      'Node',
      JSON.stringify({ type: 'DELETED', object: { metadata: { name: 'n', uid: 'n', resourceVersion: '1' } } }),
    ),
  ])
  expect([first, last].map((one) => (one as PromiseFulfilledResult<{ type: string }>).value.type)).toEqual([
    'ADDED',
    'DELETED',
  ])
  expect(broken).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('SyntaxError') } })
})
