import { expect, test, vi } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps, metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, nodeJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { takeCancellation } from './cancellation.ts'

useFakeTime()

const map = { metadata: { name: 'joiner-cancellations', namespace: 'joiner' } }

/** Nodes of one NodePool, and processes that hear of cancellations. */
async function world(names: readonly string[], change: Json = {}) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  for (const name of names) {
    cluster.put('nodeclaims', claimJson(name, change))
    cluster.put('nodes', nodeJson(name))
  }
  const replicas = [kubernetesDeps(cluster), kubernetesDeps(cluster)]
  for (const { deps } of replicas) await ended(deps.cache.catchUp(deps.cache.unsynced))
  let turn = 0
  return {
    cluster,
    replicas,
    cancel: (name: string) => {
      const { deps } = replicas[turn++ % replicas.length] as (typeof replicas)[number]
      return takeCancellation(deps, { name, uid: `uid-${name}` }, { atMs: Date.now() })
    },
    going: () => names.filter((name) => cluster.object('nodeclaims', name)?.metadata.deletionTimestamp !== undefined),
    record: () => Object.keys(cluster.object('configmaps', 'joiner-cancellations', 'joiner')?.data ?? {}).sort(),
  }
}

test('a claim is deleted, with its reason on it, and counted', async () => {
  const { cancel, cluster, going, record, replicas } = await world(['a', 'b'])
  expect(await ended(cancel('a'))).toEqual({ kind: 'deleted' })
  expect(going()).toEqual(['a'])
  expect(cluster.object('nodeclaims', 'a')?.metadata.annotations).toMatchObject({
    'joiner.sh/cancelled-at': '2026-01-01T00:00:00Z',
  })
  expect(record()).toEqual(['accepted.uid-a'])
  expect(replicas[0]?.reported).toEqual([
    expect.objectContaining({ reason: 'LifecycleCancelled', about: 'NodeClaim/a' }),
  ])
  const lines = await metricLines(
    (replicas[0] as (typeof replicas)[number]).registry,
    'karpenter_nodeclaims_disrupted_total',
  )
  expect(lines.join()).toContain('reason="cancelled"')
})

test('of fifty at once, on two processes, three are deleted, and each of the others is told why not', async () => {
  const names = Array.from({ length: 50 }, (_, n) => `n${n}`)
  const { cancel, going, record, replicas } = await world(names)
  const outcomes = await ended(Promise.all(names.map(cancel)))
  expect(outcomes.filter(({ kind }) => kind === 'deleted')).toHaveLength(3)
  expect(outcomes.filter(({ kind }) => kind === 'refused')).toHaveLength(47)
  expect(going()).toHaveLength(3)
  expect(record().filter((key) => key.startsWith('refused.'))).toHaveLength(47)
  const told = replicas.flatMap(({ reported }) => reported).filter(({ reason }) => reason === 'CancellationRefused')
  expect(told).toHaveLength(47)
  expect(told[0]?.message).toMatch(
    /goes on: 3 lifecycles were cancelled.*; to delete the node: kubectl delete nodeclaim n/,
  )
})

test('an entry that cannot be read is not counted, is named, and goes', async () => {
  const { cancel, cluster, record, replicas } = await world(['a'])
  cluster.put('configmaps', { ...map, data: { 'accepted.x': '{}', 'accepted.y': '{', rubbish: '1' } })
  const note = vi.fn()
  Object.assign((replicas[0] as (typeof replicas)[number]).deps, { note })
  expect(await ended(cancel('a'))).toEqual({ kind: 'deleted' })
  expect(record()).toEqual(['accepted.uid-a'])
  expect(note).toHaveBeenCalledWith(
    'joiner-cancellations',
    ['accepted.x', 'accepted.y', 'rubbish'].map((key) => expect.objectContaining({ key })),
  )
})

test('an attempt that was cut off before the deletion is not counted twice', async () => {
  const { cancel, cluster, going, record } = await world(['a', 'b', 'c'])
  const stop = cluster.intercept(({ verb, path }) => {
    if (verb === 'delete' && path.endsWith('/a')) throw new Error('cut off')
  })
  await expect(ended(cancel('a'))).rejects.toThrow('cut off')
  stop()
  expect(await ended(cancel('a'))).toEqual({ kind: 'deleted' })
  expect([going(), record()]).toEqual([['a'], ['accepted.uid-a']])
})

test('a claim that is held before it is deleted stays, and is not said to be cancelled', async () => {
  for (const verb of ['patch', 'delete']) {
    const { cancel, cluster, going, replicas } = await world(['a'])
    const stop = cluster.intercept((request) => {
      if (request.verb !== verb || !request.path.endsWith('/nodeclaims/a')) return
      stop()
      cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } })
    })
    expect(await ended(cancel('a'))).toMatchObject({ kind: 'refused', message: expect.stringContaining('is held') })
    expect(going()).toEqual([])
    expect(cluster.object('nodeclaims', 'a')?.metadata.annotations).not.toHaveProperty(['joiner.sh/cancelled-at'])
    expect(replicas[0]?.reported.map(({ reason }) => reason)).toEqual(['CancellationRefused'])
  }
})

test.each<[string, Json]>([
  ['is being deleted', { metadata: { deletionTimestamp: at(0) } }],
  ['belongs to a later claim', { metadata: { uid: 'newer' } }],
])('nothing is written for a claim whose name %s', async (_, change) => {
  const { cancel, record } = await world(['a'], change)
  expect(await ended(cancel('a'))).toEqual({ kind: 'late' })
  expect(record()).toEqual([])
})

test('a pause that cannot be read, or a record that cannot be written, deletes nothing', async () => {
  for (const name of ['joiner-pauses', 'joiner-cancellations']) {
    const { cancel, cluster, going } = await world(['a'])
    cluster.put('configmaps', { ...map, data: {} })
    cluster.intercept(({ path }) => {
      if (path.endsWith(name)) throw new Error('etcd is away')
    })
    await expect(ended(cancel('a'))).rejects.toThrow('etcd is away')
    expect(going()).toEqual([])
  }
})
