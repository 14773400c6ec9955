import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import {
  begun,
  disrupted,
  empty,
  free,
  id,
  marksOf,
  proposal,
  replacementKey,
  replacementsIn,
  stampKey,
  world,
} from '../../../test/fakes/commit-world.ts'
import { at, claimJson, condition, nodeJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import type { CommitOutcome } from '../contract.ts'

useFakeTime()

describe('a later attempt', () => {
  const names = ['a', 'b']
  const up = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type))
  const marked = (cluster: FakeCluster, name: string, stamp: string | null = id) => {
    cluster.edit('nodes', `aks-${name}`, { spec: { taints: [disrupted] } })
    cluster.edit('nodeclaims', name, {
      metadata: { annotations: { [stampKey]: stamp } },
      status: { conditions: [...up, condition('DisruptionReason', 'True', 0, 'Underutilized')] },
    })
  }
  const replaced = (cluster: FakeCluster, change: Json = {}) =>
    cluster.put('nodeclaims', claimJson('new', { metadata: { annotations: { [replacementKey]: id }, ...change } }))
  const kindsOf = (outcomes: readonly CommitOutcome[]) => outcomes.map(({ kind }) => kind)

  test('finds a command that was begun as a whole, and changes nothing', async () => {
    const { cluster, commit, plan } = await world()
    for (const name of names) marked(cluster, name)
    replaced(cluster)
    const before = marksOf(cluster)
    const [outcome] = await commit([proposal(names)], 2)
    expect(outcome).toMatchObject({ kind: 'committed', replacements: [{ name: 'new', uid: 'uid-new' }], savings: 0.5 })
    expect(marksOf(cluster)).toEqual(before)
    expect(cluster.names('nodeclaims')).toEqual(['a', 'b', 'new'])
    expect(plan.looks).toBe(0)
  })

  test('finds a command whose nodes are going already: its workflow was reset', async () => {
    const { cluster, commit, plan } = await world()
    for (const name of names) marked(cluster, name)
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    replaced(cluster)
    for (const attempt of [1, 2]) expect(kindsOf(await commit([proposal(names)], attempt))).toEqual(['committed'])
    expect(cluster.names('nodeclaims')).toEqual(['a', 'b', 'new'])
    expect(plan.looks).toBe(0)
  })

  test('writes the stamps that a crash left out', async () => {
    const { cluster, commit } = await world()
    marked(cluster, 'a')
    marked(cluster, 'b', null)
    replaced(cluster)
    expect(kindsOf(await commit([proposal(names)], 2))).toEqual(['committed'])
    expect(marksOf(cluster)).toEqual(begun)
  })

  test.each<[string, (cluster: FakeCluster) => void]>([
    ['a minute and more ago', (cluster) => replaced(cluster, { creationTimestamp: at(-61) })],
    [
      'and a candidate lost its taint',
      (cluster) => (replaced(cluster), cluster.edit('nodes', 'aks-b', { spec: { taints: [] } })),
    ],
    [
      'and a candidate lost its reason',
      (cluster) => (replaced(cluster), cluster.edit('nodeclaims', 'b', { status: { conditions: [] } })),
    ],
    [
      'and another reason stands there',
      (cluster) => (
        replaced(cluster),
        cluster.edit('nodeclaims', 'b', {
          status: { conditions: [condition('DisruptionReason', 'True', 0, 'Drifted')] },
        })
      ),
    ],
    [
      'and a pause came',
      (cluster) => (
        replaced(cluster),
        cluster.put('configmaps', {
          metadata: { name: 'joiner-pauses', namespace: 'joiner' },
          data: { disruption: '{}' },
        })
      ),
    ],
    [
      'and a candidate is going',
      (cluster) => (replaced(cluster), cluster.edit('nodeclaims', 'b', { metadata: { deletionTimestamp: at(0) } })),
    ],
    [
      'and the budget was used up by another command',
      (cluster) => (
        replaced(cluster),
        cluster.edit('nodepools', 'default', { spec: { disruption: { budgets: [{ nodes: '2' }] } } }),
        cluster.put('nodeclaims', claimJson('c', { metadata: { annotations: { [stampKey]: 'another' } } })),
        cluster.put('nodes', nodeJson('c'))
      ),
    ],
    [
      'and another command has a candidate',
      (cluster) => (
        replaced(cluster),
        cluster.edit('nodepools', 'default', { spec: { disruption: { budgets: [{ nodes: '9' }] } } }),
        cluster.edit('nodeclaims', 'b', { metadata: { annotations: { [stampKey]: 'x' } } })
      ),
    ],
    ['but the replacement is gone', () => {}],
    ['but the replacement is going', (cluster) => replaced(cluster, { deletionTimestamp: at(0) })],
  ])('undoes what was begun %s', async (_, change) => {
    const { cluster, commit } = await world()
    for (const name of names) marked(cluster, name, null)
    change(cluster)
    expect(await commit([proposal(names)], 2)).toEqual([
      { kind: 'rejected', message: 'an earlier attempt was cut off; what it had done is undone' },
    ])
    expect(marksOf(cluster).a).toBe('free')
    expect(replacementsIn(cluster).filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([])
  })

  test('that stood still before a stamp takes no node from the command that has it by then', async () => {
    const { cluster, commit } = await world()
    const end = cluster.intercept(({ verb, path, body }) => {
      if (verb !== 'patch' || !path.endsWith('/nodeclaims/b') || !JSON.stringify(body).includes(id)) return
      end()
      cluster.edit('nodeclaims', 'b', { metadata: { annotations: { [stampKey]: 'another' } } })
    })
    expect(await commit([proposal(names)])).toEqual([
      { kind: 'rejected', message: 'NodeClaim b belongs to command another meanwhile' },
    ])
    expect(cluster.object('nodeclaims', 'b')?.metadata.annotations[stampKey]).toBe('another')
    expect(marksOf(cluster).a).toBe('free')
  })

  test.each<[string, Json | undefined]>([
    ['is gone', undefined],
    ['is going', { deletionTimestamp: at(0) }],
  ])('undoes a command that was begun as a whole and whose replacement %s', async (_, change) => {
    const { cluster, commit } = await world()
    for (const name of names) marked(cluster, name)
    if (change !== undefined) replaced(cluster, change)
    expect(kindsOf(await commit([proposal(names)], 2))).toEqual(['rejected'])
    expect(marksOf(cluster)).toEqual(free)
  })

  test('never plans again: where nothing was done nothing is', async () => {
    const { cluster, commit, plan } = await world()
    expect(kindsOf(await commit([proposal(names)], 2))).toEqual(['rejected'])
    expect(marksOf(cluster)).toEqual(free)
    expect(plan.looks).toBe(0)
    expect(replacementsIn(cluster)).toEqual([])
  })

  test('of empty nodes goes on with those that were stamped, and frees the others', async () => {
    const { cluster, commit } = await world()
    marked(cluster, 'a', 'emptiness-0123456789-01234567')
    marked(cluster, 'b', null)
    const [outcome] = await commit([empty(names)], 2)
    expect(outcome).toMatchObject({ kind: 'committed', candidates: [{ name: 'a' }] })
    expect(marksOf(cluster)).toEqual({ a: 'taint Underutilized emptiness-0123456789-01234567', b: 'free' })
  })

  test('leaves alone what another command has stamped meanwhile', async () => {
    const { cluster, commit } = await world()
    marked(cluster, 'a', null)
    marked(cluster, 'b', 'drift-0000000000')
    await commit([proposal(names)], 2)
    expect(marksOf(cluster)).toEqual({ a: 'free', b: 'taint Underutilized drift-0000000000' })
  })

  test('keeps a replacement that pods use by then', async () => {
    const { cluster, commit } = await world()
    for (const name of names) marked(cluster, name, null)
    replaced(cluster, { creationTimestamp: at(-120) })
    cluster.put('nodes', nodeJson('new'))
    cluster.put('pods', {
      metadata: {
        name: 'web',
        namespace: 'default',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true }],
      },
      spec: { nodeName: 'aks-new', containers: [] },
      status: { phase: 'Running' },
    })
    expect(kindsOf(await commit([proposal(names)], 2))).toEqual(['rejected'])
    expect(cluster.object('nodeclaims', 'new')?.metadata).toMatchObject({ annotations: {} })
    expect(cluster.object('nodeclaims', 'new')?.metadata.deletionTimestamp).toBeUndefined()
  })
})
