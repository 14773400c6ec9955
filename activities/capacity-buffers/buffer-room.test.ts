import pino from 'pino'
import { beforeEach, expect, it } from 'vitest'
import type { Pod } from '../../core/objects.ts'
import type { SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import { unschedulableText } from '../../core/scheduling/unschedulable-text.ts'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { BufferRoom } from './buffer-room.ts'

interface Written {
  readonly name: string
  readonly replicas: unknown
  readonly conditions: readonly string[]
  readonly messages: readonly string[]
}

let now: number
let versions: number
let cache: ClusterCache
let written: Written[]
let refused: Set<string>
let room: BufferRoom

beforeEach(() => {
  now = Date.parse('2026-01-01T01:00:00Z')
  versions = 0
  written = []
  refused = new Set()
  cache = new ClusterCache({} as never, pino({ level: 'silent' }), { buffers: true })
  room = new BufferRoom({
    client: { patchStatus, inTurn: (_: string, section: () => unknown) => section() } as never,
    cache,
    log: pino({ level: 'silent' }),
    now: () => now,
  })
})

const patchStatus = async (path: string, { status }: { status: Json }) => {
  const name = path.split('/').at(-1) as string
  if (refused.has(name)) throw new Error('the API server is away')
  const conditions = status['conditions'] as { type: string; status: string; reason: string; message: string }[]
  written.push({
    name,
    replicas: status['replicas'],
    conditions: conditions.map((one) => `${one.status} ${one.reason}`),
    messages: conditions.map((one) => one.message),
  })
  const kept = Object.fromEntries(Object.entries(status).filter(([, value]) => value !== null))
  return buffer(name, cache.capacityBuffers.get(`default/${name}`)?.replicas, kept)
}

const metadata = (name: string, generation = 1): Json => {
  versions += 1
  return {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    resourceVersion: String(versions),
    generation,
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
}
const buffer = (name: string, replicas: number | undefined, status: Json = {}): Json => ({
  metadata: metadata(name, replicas),
  spec: { scalableRef: { kind: 'Deployment', name }, ...(replicas === undefined ? {} : { replicas }) },
  status,
})
const workload = (name: string, cpu: string): Json => ({
  metadata: metadata(name),
  spec: {
    replicas: 3,
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', env: [{ name: 'A' }], resources: { requests: { cpu } } }] },
    },
  },
})
const noPlan = { newNodeClaims: [], existing: [], unschedulable: [], stopped: false }
const onNode = (pods: readonly Pod[]): SchedulingPlan => ({ ...noPlan, existing: [{ node: 'n', pods }] })
const latest = (name: string) => written.findLast((one) => one.name === name)

it('makes pods from what buffers refer to, by names that no pod of the cluster has, and says where they are', async () => {
  expect(room.pods()).toEqual([])
  cache.upsert('Deployment', workload('a', '1'))
  cache.upsert('CapacityBuffer', buffer('a', 2))
  expect(room.dueAt).toBe(Number.NEGATIVE_INFINITY)
  expect(room.isDue()).toBe(true)
  const pods = room.begin()
  expect(pods.map(({ metadata: { name }, buffer: of }) => [name, of])).toEqual([
    ['buffer:a:1', 'default/a'],
    ['buffer:a:2', 'default/a'],
  ])
  expect(cache.find('Pod', 'default/buffer:a:1')).toBe(pods[0])
  expect([...cache.pods.values()]).toEqual([])
  room.passed(onNode(pods))
  await room.settled()
  expect(latest('a')).toMatchObject({ replicas: 2, conditions: ['True Resolved', 'True FitsExistingCapacity'] })
  const writes = written.length
  now += 60_000
  room.passed(onNode(room.begin()))
  await room.settled()
  expect(written).toHaveLength(writes)
})

it('keeps the pods while their template is the same, and makes others when it is not', () => {
  cache.upsert('Deployment', workload('a', '1'))
  cache.upsert('CapacityBuffer', buffer('a', 1))
  const [first] = room.begin()
  room.passed(onNode(room.pods()))
  cache.upsert('Deployment', workload('a', '1'))
  cache.upsert('CapacityBuffer', buffer('a', 2))
  expect(room.pods()[0]).toBe(first)
  expect(room.pods()).toHaveLength(2)
  cache.upsert('Deployment', workload('a', '2'))
  expect(room.pods()[0]?.requests).not.toEqual(first?.requests)
})

it('lets a bad buffer, and one whose status cannot be written, harm no other', async () => {
  for (const name of ['good', 'away']) cache.upsert('Deployment', workload(name, '1'))
  for (const name of ['bad', 'good', 'away']) cache.upsert('CapacityBuffer', buffer(name, 1))
  refused.add('away')
  room.passed(onNode(room.begin()))
  await room.settled()
  expect(latest('bad')?.conditions).toEqual(['False ScalableRefNotFound', 'False NotReadyForProvisioning'])
  expect(latest('good')?.conditions).toEqual(['True Resolved', 'True FitsExistingCapacity'])
  refused.clear()
  room.passed(onNode(room.begin()))
  await room.settled()
  expect(latest('away')?.conditions).toEqual(['True Resolved', 'True FitsExistingCapacity'])
})

it('repeats a status that could not be written where no buffer has pods, without hurry', async () => {
  cache.upsert('CapacityBuffer', buffer('bad', 1))
  refused.add('bad')
  expect(room.begin()).toEqual([])
  await room.settled()
  refused.clear()
  room.passed(undefined)
  expect(room.dueAt).toBe(now + 30_000)
  await room.settled()
  expect(latest('bad')?.conditions).toEqual(['False ScalableRefNotFound', 'False NotReadyForProvisioning'])
})

it('says of each buffer why its own pods have no place', async () => {
  for (const name of ['a', 'b']) {
    cache.upsert('Deployment', workload(name, '1'))
    cache.upsert('CapacityBuffer', buffer(name, 1))
  }
  const [a, b] = room.begin() as [Pod, Pod]
  room.passed({
    ...noPlan,
    unschedulable: [
      { pod: a, cause: { kind: 'no-node-pools' } },
      { pod: b, cause: { kind: 'resource-claims' } },
    ],
  })
  await room.settled()
  const message = (name: string) => latest(name)?.messages.at(-1)
  expect(message('a')).toContain(unschedulableText({ kind: 'no-node-pools' }))
  expect(message('b')).toContain(unschedulableText({ kind: 'resource-claims' }))
})

it('says nothing of pods that came during a pass before the next one', async () => {
  cache.upsert('Deployment', workload('a', '1'))
  cache.upsert('CapacityBuffer', buffer('a', 1))
  const pods = room.begin()
  cache.upsert('CapacityBuffer', buffer('a', 3))
  room.pods()
  room.passed(onNode(pods))
  await room.settled()
  expect(latest('a')).toMatchObject({ replicas: 3, conditions: ['True Resolved'] })
  expect(room.isDue()).toBe(true)
  room.passed(onNode(room.begin()))
  await room.settled()
  expect(latest('a')?.messages.at(-1)).toBe('All 3 virtual pods fit on existing capacity')
})

it('says why there is no place, and tries again after 10 s or a second after pods were bound', async () => {
  cache.upsert('Deployment', workload('a', '1'))
  cache.upsert('CapacityBuffer', buffer('a', 1))
  const pods = room.begin()
  room.passed({ ...noPlan, unschedulable: pods.map((pod) => ({ pod, cause: { kind: 'no-node-pools' } })) })
  await room.settled()
  expect(latest('a')?.conditions).toEqual(['True Resolved', 'False RequiresNewCapacity'])
  expect(room.dueAt).toBe(now + 10_000)
  const pod = { spec: { nodeName: 'n', containers: [] }, status: { phase: 'Running' } }
  cache.upsert('Pod', { metadata: metadata('real'), ...pod })
  expect(room.dueAt).toBe(now + 1000)
  room.passed(onNode(room.begin()))
  cache.upsert('Pod', { metadata: metadata('real'), ...pod })
  expect(room.dueAt).toBe(now + 30_000)
})
