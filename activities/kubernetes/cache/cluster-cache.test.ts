import { pino } from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { ClusterCache } from './cluster-cache.ts'

let logged: string[]
let cache: ClusterCache

beforeEach(() => {
  logged = []
  const log = pino({}, { write: (line) => logged.push(line) })
  cache = new ClusterCache({} as never, log)
})

const node = (name: string, version: number, providerID: unknown) => ({
  metadata: { name, uid: name, resourceVersion: String(version), creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { providerID },
})

test('an object that cannot be indexed is skipped, and what was known of it stays', () => {
  const told: string[] = []
  cache.onChange(({ key }) => told.push(key))
  cache.upsert('Node', node('a', 1, 'azure:///A'))
  cache.upsert('Node', node('a', 2, 7))
  cache.upsert('Node', node('b', 3, 'azure:///B'))
  expect(told).toEqual(['a', 'b'])
  expect(cache.nodes.by('byProviderId', 'azure:///a').map(({ metadata }) => metadata.resourceVersion)).toEqual(['1'])
  expect(cache.nodes.by('byProviderId', 'azure:///b')).toHaveLength(1)
})

test('an object that cannot be read is logged once for each of its versions', () => {
  const pod = (version: number) => ({
    metadata: { ...node('p', version, '').metadata, namespace: 'default' },
    spec: { containers: [{ resources: { requests: { cpu: 'many' } } }] },
  })
  for (const version of [1, 1, 1, 2]) cache.upsert('Pod', pod(version))
  expect(cache.pods.size).toBe(0)
  expect(logged).toHaveLength(2)
  expect(logged[0]).toContain('quantity \\"many\\"')
})
