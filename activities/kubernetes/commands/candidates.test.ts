import { describe, expect, test } from 'vitest'
import type { DisruptionMethod } from '../../../core/disruption/command.ts'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import {
  candidate,
  guarded,
  pause,
  refTo,
  replacement,
  stateOf,
  untouched,
  workOn,
  world,
} from '../../../test/fakes/command-world.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, condition, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { ended, pass, tellAhead, useFakeTime } from '../../../test/fakes/time.ts'
import { samplePolicy } from '../../../test/samples/sample-objects.ts'
import type { Json } from '../client/answers.ts'
import { ServerTime } from '../client/server-time.ts'
import { deleteCandidates } from './candidates.ts'

useFakeTime()

test.each([
  [0, { kind: 'deleted' }],
  [365, { kind: 'refused', message: expect.stringContaining("more than a minute from the API server's") as string }],
])('a sick node is deleted by a process whose clock is %i days ahead: %o', async (days, outcome) => {
  const { cluster, deps, lifecyclesEnd } = world(['a'])
  lifecyclesEnd()
  cluster.edit('nodes', 'aks-a', { status: { conditions: [condition('Broken')] } })
  const serverTime = new ServerTime({ log: deps.log })
  tellAhead(serverTime, days * 86_400_000)
  const work = workOn(['a'], {
    method: 'repair',
    decision: 'delete',
    repair: { condition: 'Broken', why: '', action: 'ReplaceNode', boundMs: 1000 },
  })
  const withPolicy = { ...deps, serverTime, repairPolicies: [samplePolicy('Broken', 'True')] }
  await pass(3_600_000)
  const { signal } = new AbortController()
  expect(await ended(asAttempt(1, () => deleteCandidates(withPolicy, work, signal)))).toEqual(outcome)
})

describe('deleting the candidates of a command', () => {
  test('deletes all of them and resolves when the last is gone', async () => {
    const { cluster, deletes, reported } = world()
    const work = deletes(workOn(['a', 'b']))
    await pass(1000)
    expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: 'going', b: 'going' })
    cluster.remove('nodeclaims', 'a')
    await pass(1000)
    let isOver = false
    void work.then(() => {
      isOver = true
    })
    await pass(0)
    expect(isOver).toBe(false)
    cluster.remove('nodeclaims', 'b')
    expect(await ended(work)).toEqual({ kind: 'deleted' })
    expect(
      reported.filter(({ reason }) => reason === 'DisruptionTerminating').map(({ about, message }) => [about, message]),
    ).toEqual([
      ['NodeClaim/a', 'Disrupting NodeClaim: Underutilized'],
      ['Node/aks-a', 'Disrupting Node: Underutilized'],
      ['NodeClaim/b', 'Disrupting NodeClaim: Underutilized'],
      ['Node/aks-b', 'Disrupting Node: Underutilized'],
    ])
  })

  const obstacles: [string, (cluster: FakeCluster) => void, RegExp][] = [
    [
      'another command has stamped',
      (cluster) =>
        cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/disruption-command': 'drift-1' } } }),
      /does not name the command any more/,
    ],
    [
      'nobody has stamped any more',
      (cluster) =>
        cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/disruption-command': null } } }),
      /does not name the command any more/,
    ],
    [
      'an operator holds',
      (cluster) =>
        cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } }),
      /NodeClaim is held until released/,
    ],
    [
      'has do-not-disrupt on its Node',
      (cluster) => cluster.edit('nodes', 'aks-b', { metadata: guarded }),
      /the node has karpenter.sh\/do-not-disrupt by now/,
    ],
    [
      'has do-not-disrupt itself',
      (cluster) => cluster.edit('nodeclaims', 'b', { metadata: guarded }),
      /the node has karpenter.sh\/do-not-disrupt by now/,
    ],
    [
      'has a pod with do-not-disrupt',
      (cluster) => cluster.put('pods', podJson('web', 'b', { metadata: guarded })),
      /pod default\/web has karpenter.sh\/do-not-disrupt by now/,
    ],
    ['whose pool is paused', (cluster) => pause(cluster, 'disruption.nodepool.default'), /paused/],
    ['that is paused by its Node', (cluster) => pause(cluster, 'disruption.node.aks-b'), /paused/],
    ['that is paused by its NodeClaim', (cluster) => pause(cluster, 'disruption.node.b'), /paused/],
    ['whose reason is paused', (cluster) => pause(cluster, 'disruption.reason.Underutilized'), /paused/],
    ['when the loop is paused', (cluster) => pause(cluster, 'disruption'), /paused/],
    ['when nobody can read what is paused', (cluster) => pause(cluster, 'disruption', 'rubbish'), /paused/],
  ]

  test.each(obstacles)('refuses all of them when there is one that %s', async (_, change, why) => {
    const { cluster, deletes } = world()
    change(cluster)
    const before = cluster.snapshot()
    const outcome = await deletes(workOn(['a', 'b']))
    expect(outcome).toMatchObject({ kind: 'refused' })
    expect((outcome as { message: string }).message).toMatch(why)
    expect(cluster.snapshot()).toEqual(before)
  })

  test.each(obstacles.filter(([name]) => !name.startsWith('when') && !/pool|reason/.test(name)))(
    'of an emptiness command leaves the one that %s and releases it',
    async (name, change) => {
      const { cluster, deletes, lifecyclesEnd } = world()
      change(cluster)
      lifecyclesEnd()
      expect(await ended(deletes(workOn(['a', 'b'], { method: 'emptiness', decision: 'delete' })))).toEqual({
        kind: 'deleted',
      })
      const isOthers = name.includes('another command') || name.includes('nobody')
      expect(stateOf(cluster, ['a', 'b'])).toEqual({
        a: 'gone',
        b: isOthers ? expect.not.stringMatching('gone|going') : 'free',
      })
    },
  )

  test.each<[string, (cluster: FakeCluster) => void, RegExp]>([
    [
      'a node that got a pod since it was empty',
      (cluster) => cluster.put('pods', podJson('web', 'a')),
      /pod default\/web runs there by now/,
    ],
    ['a NodeClaim whose Node is gone', (cluster) => cluster.remove('nodes', 'aks-a'), /its Node aks-a is gone/],
    [
      'a NodeClaim whose Node is another by now',
      (cluster) => {
        cluster.put('nodes', nodeJson('a', { metadata: { annotations: { 'joiner.sh/node-uid': 'earlier' } } }))
      },
      /is not the registered one any more/,
    ],
  ])('of an emptiness command leaves %s', async (_, change, why) => {
    const { cluster, deletes } = world(['a'])
    change(cluster)
    const outcome = await ended(deletes(workOn(['a'], { method: 'emptiness', decision: 'delete' })))
    expect(outcome).toMatchObject({ kind: 'refused', message: expect.stringMatching(why) })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
  })

  test('reads no claim of an emptiness command first: its deletion is of the version that was judged', async () => {
    const { cluster, deletes, lifecyclesEnd } = world(['a'])
    lifecyclesEnd()
    const requests: string[] = []
    cluster.intercept(({ verb, path }) => void requests.push(`${verb} ${path}`))
    await ended(deletes(workOn(['a'], { method: 'emptiness', decision: 'delete' })))
    expect(requests.filter((request) => request.includes('/nodeclaims/'))).toEqual([
      'delete /apis/karpenter.sh/v1/nodeclaims/a',
    ])
  })

  test.each([
    ['is held', { annotations: { 'joiner.sh/hold-until': 'released' } }, 'free'],
    ['has a label', { labels: { team: 'a' } }, 'going'],
  ])(
    'of an emptiness command judges a claim again that %s since the cache has heard of it',
    async (_, metadata, left) => {
      const { cluster, deletes, reported } = world()
      cluster.lag()
      cluster.edit('nodeclaims', 'a', { metadata })
      const work = deletes(workOn(['a', 'b'], { method: 'emptiness', decision: 'delete' }))
      // What comes until 5 s after the taint is waited for.
      await pass(6000)
      expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: left, b: 'going' })
      const going = reported.filter(({ reason }) => reason === 'DisruptionTerminating').map(({ about }) => about)
      expect(going.includes('NodeClaim/a')).toBe(left === 'going')
      for (const name of ['a', 'b']) if (left === 'going' || name === 'b') cluster.remove('nodeclaims', name)
      cluster.catchUp()
      expect(await ended(work)).toEqual({ kind: 'deleted' })
    },
  )

  test('of an emptiness command whose only node is held by then says so', async () => {
    const { cluster, deletes } = world(['a'])
    cluster.lag()
    cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } })
    const outcome = await ended(deletes(workOn(['a'], { method: 'emptiness', decision: 'delete' })))
    expect(outcome).toMatchObject({ kind: 'refused', message: expect.stringMatching(/is held until released/) })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
  })

  test.each<[DisruptionMethod, Json, 'deleted' | 'refused']>([
    ['drift', { terminationGracePeriod: '1h' }, 'deleted'],
    ['drift', {}, 'refused'],
    ['multi-node', { terminationGracePeriod: '1h' }, 'refused'],
  ])('a pod with do-not-disrupt under %s of a claim with %j: %s', async (method, spec, kind) => {
    const { cluster, deletes, lifecyclesEnd } = world([])
    candidate(cluster, 'a', { claim: { spec } })
    cluster.put('pods', podJson('web', 'a', { metadata: guarded }))
    lifecyclesEnd()
    expect(await ended(deletes(workOn(['a'], { method })))).toMatchObject({ kind })
    expect(cluster.names('nodeclaims')).toEqual(kind === 'deleted' ? [] : ['a'])
  })

  test.each([
    ['has ended', { status: { phase: 'Succeeded' } }],
    ['is being deleted', { metadata: { ...guarded, deletionTimestamp: at(10) } }],
  ])('a pod with do-not-disrupt that %s forbids nothing', async (_, change) => {
    const { cluster, deletes, lifecyclesEnd } = world(['a'])
    cluster.put(
      'pods',
      podJson('web', 'a', { ...change, metadata: { ...guarded, ...(change as { metadata?: Json }).metadata } }),
    )
    lifecyclesEnd()
    expect(await ended(deletes(workOn(['a'])))).toEqual({ kind: 'deleted' })
  })

  test('is refused while a replacement cannot take pods, whatever the caller waited for', async () => {
    const { cluster, deletes } = world()
    replacement(cluster, 'new', false)
    expect(await deletes(workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }] }))).toEqual({
      kind: 'refused',
      message: 'replacement new of the command is not initialized',
    })
    expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: untouched, b: untouched })
  })

  test('is refused while the Node of a replacement is gone, though it was initialized', async () => {
    const { cluster, deletes } = world()
    replacement(cluster, 'new', true)
    cluster.edit('nodeclaims', 'new', {
      status: { conditions: ['Initialized', 'NodeGone'].map((type) => condition(type)) },
    })
    expect(await deletes(workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }] }))).toMatchObject({
      kind: 'refused',
    })
    expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: untouched, b: untouched })
  })

  test('is refused while the Node of a replacement is gone, and nothing says so yet', async () => {
    const { cluster, deletes } = world()
    replacement(cluster, 'new', true)
    cluster.remove('nodes', 'aks-new')
    expect(await deletes(workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }] }))).toMatchObject({
      kind: 'refused',
    })
    expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: untouched, b: untouched })
  })

  test('reads a replacement from the API server and not from a cache that lags', async () => {
    const { cluster, deletes, lifecyclesEnd } = world()
    replacement(cluster, 'new', false)
    cluster.lag()
    replacement(cluster, 'new', true)
    lifecyclesEnd()
    const work = deletes(workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }] }))
    await pass(100)
    cluster.catchUp()
    expect(await ended(work)).toEqual({ kind: 'deleted' })
  })

  test('that a restore of etcd took back is noticed, and the next attempt deletes it again', async () => {
    const { cluster, deletes } = world()
    const work = deletes(workOn(['a', 'b'])).catch((error: unknown) => error)
    await pass(1000)
    cluster.remove('nodeclaims', 'b')
    candidate(cluster, 'b')
    expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: 'going', b: untouched })
    expect(String(await ended(work, 60_000))).toContain('NodeClaim b: its deletion was taken back')
    const again = deletes(workOn(['a', 'b']), 2)
    await pass(1000)
    expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: 'going', b: 'going' })
    for (const name of ['a', 'b']) cluster.remove('nodeclaims', name)
    expect(await ended(again)).toEqual({ kind: 'deleted' })
  })

  test('makes the replacements ordinary nodes, and keeps them', async () => {
    const { cluster, deletes, lifecyclesEnd } = world()
    replacement(cluster, 'new')
    lifecyclesEnd()
    await ended(deletes(workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }] })))
    expect(cluster.object('nodeclaims', 'new')?.metadata.annotations).toEqual({})
    expect(cluster.names('nodeclaims')).toEqual(['new'])
  })

  test('on the first attempt refuses a command of which somebody else is deleting a node', async () => {
    const { cluster, deletes } = world()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    expect(await deletes(workOn(['a', 'b']))).toEqual({
      kind: 'refused',
      message: 'a node of the command is being deleted already',
    })
    expect(stateOf(cluster, ['b'])).toEqual({ b: untouched })
  })

  test('on a later attempt goes on with a command that had begun', async () => {
    const { cluster, deletes, lifecyclesEnd } = world()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    lifecyclesEnd()
    const work = deletes(workOn(['a', 'b']), 2)
    await pass(100)
    expect(stateOf(cluster, ['b'])).toEqual({ b: 'gone' })
    cluster.remove('nodeclaims', 'a')
    expect(await ended(work)).toEqual({ kind: 'deleted' })
  })

  test('on a later attempt releases a node that must stay by then', async () => {
    const { cluster, deletes } = world()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } })
    const work = deletes(workOn(['a', 'b']), 2)
    await pass(100)
    expect(stateOf(cluster, ['b'])).toEqual({ b: 'free' })
    cluster.remove('nodeclaims', 'a')
    expect(await ended(work)).toEqual({ kind: 'deleted' })
  })

  test('never deletes another claim that has the name by now', async () => {
    const { cluster, deletes } = world(['a'])
    cluster.intercept(({ verb, path }) => {
      if (verb === 'delete' && path.endsWith('/nodeclaims/a'))
        cluster.put('nodeclaims', claimJson('a', { metadata: { uid: 'newer' } }))
    })
    expect(await ended(deletes(workOn(['a'])))).toEqual({ kind: 'deleted' })
    expect(stateOf(cluster, ['a'])).toEqual({ a: 'taint' })
  })

  test('says that nothing is left of a command all of whose nodes lost their stamp', async () => {
    const { cluster, deletes } = world(['a'])
    cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/disruption-command': null } } })
    expect(await ended(deletes(workOn(['a'], { method: 'emptiness' })))).toMatchObject({ kind: 'refused' })
  })

  test('counts nodes, pods and savings by pool', async () => {
    const { cluster, deletes, lifecyclesEnd, registry } = world()
    cluster.put('pods', podJson('web', 'a'))
    cluster.put(
      'pods',
      podJson('static', 'a', {
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n', controller: true }] },
      }),
    )
    lifecyclesEnd()
    const candidates = [refTo('a'), { ...refTo('b'), nodePool: 'other' }]
    await ended(deletes(workOn([], { candidates })))
    expect(await metricLines(registry, 'karpenter_pods_disruption_initiated_total{')).toEqual([
      expect.stringMatching(/reason="underutilized",nodepool="default".*\} 1$/),
    ])
    const saved = await metricLines(registry, 'joiner_disruption_savings_dollars_per_hour_total{')
    expect(saved.map((line) => line.replace(/^.*nodepool="(\w+)".* ([\d.]+)$/, '$1 $2'))).toEqual([
      'default 0.25',
      'other 0.25',
    ])
  })
})
