import { expect, test } from 'vitest'
import { type Pause, Pauses } from '../../core/pauses/pauses.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { metricLines } from '../../test/fakes/deps.ts'
import {
  claimJson,
  condition,
  goingClaim,
  nodeClassJson,
  nodeJson,
  podJson,
  poolJson,
} from '../../test/fakes/objects.ts'
import { planningDeps } from '../../test/fakes/planning.ts'
import { ended, useFakeTime } from '../../test/fakes/time.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { FenceLostError } from '../provisioning/fence.ts'
import { removeSurplus } from './surplus.ts'

useFakeTime()

interface Change {
  readonly claims?: readonly Json[]
  readonly pods?: readonly Json[]
  readonly pauses?: readonly Pause[]
  readonly isLost?: boolean
  readonly staticCapacity?: boolean
}

/** A static NodePool with nodes `a`, `b` and `c`, unless others are given. */
async function world(replicas: number, change: Change = {}) {
  const { claims = ['a', 'b', 'c'].map((name) => claimJson(name)), pods = [], pauses = [] } = change
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson('default', { spec: { replicas } }))
  cluster.put('aksnodeclasses', nodeClassJson())
  for (const claim of claims) {
    const { metadata } = claim as { readonly metadata: { readonly name: string } }
    cluster.put('nodeclaims', claim)
    cluster.put('nodes', nodeJson(metadata.name))
  }
  for (const pod of pods) cluster.put('pods', pod)
  const known = await planningDeps(cluster)
  const evaluating = {
    pauses: new Pauses(pauses),
    fence: {
      check: async () => {
        if (change.isLost === true) throw new FenceLostError('another planner')
      },
    },
    signal: new AbortController().signal,
  }
  return {
    ...known,
    cluster,
    remove: () => ended(removeSurplus({ ...known.deps, staticCapacity: change.staticCapacity ?? true }, evaluating)),
    staying: () =>
      cluster
        .all('nodeclaims')
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name),
  }
}

const pause = (scope: Pause['scope']): Pause => ({ reason: 'x', sinceMs: 0, ...(scope && { scope }) })
const annotated = (name: string, annotations: Json) => claimJson(name, { metadata: { annotations } })
const others = [claimJson('b'), claimJson('c')]

// reference/karpenter-core.md 3.16
test.each<[string, number, Change, readonly string[]]>([
  ['nothing where it has no more than its replicas', 3, {}, ['a', 'b', 'c']],
  ['empty nodes first', 2, { pods: [podJson('p', 'a'), podJson('q', 'c')] }, ['a', 'c']],
  ['nothing that goes already', 2, { claims: [goingClaim('a'), ...others] }, ['b', 'c']],
  [
    'no node that is held',
    2,
    { claims: [annotated('a', { 'joiner.sh/hold-until': 'forever' }), ...others] },
    ['a', 'c'],
  ],
  [
    'no node of a command',
    1,
    { claims: [annotated('a', { 'joiner.sh/disruption-command': 'x' }), ...others] },
    ['a', 'c'],
  ],
  ['no node under a pause', 2, { pauses: [pause({ kind: 'node', name: 'aks-a' })] }, ['a', 'c']],
  ['nothing of a paused NodePool', 1, { pauses: [pause({ kind: 'nodePool', name: 'default' })] }, ['a', 'b', 'c']],
  ['nothing while the gate is off', 1, { staticCapacity: false }, ['a', 'b', 'c']],
])('a static pool loses %s', async (_, replicas, change, left) => {
  const { remove, staying } = await world(replicas, change)
  await remove()
  expect(staying()).toEqual(left)
})

test('a process that plans no more deletes nothing', async () => {
  const { remove, staying } = await world(1, { isLost: true })
  await expect(remove()).rejects.toThrow('another planner')
  expect(staying()).toEqual(['a', 'b', 'c'])
})

test('what goes says for its history why, and is counted', async () => {
  const { remove, cluster, registry } = await world(2)
  await remove()
  expect(cluster.object('nodeclaims', 'a')?.metadata.annotations).toMatchObject({ 'joiner.sh/scaled-down-to': '2' })
  expect(await metricLines(registry, 'karpenter_nodeclaims_disrupted_total{')).toEqual([
    expect.stringMatching(/reason="overprovisioned".* 1$/),
  ])
})

test('a pool that was scaled up again a moment ago loses nothing', async () => {
  const { remove, cluster, staying } = await world(1)
  cluster.lag()
  cluster.edit('nodepools', 'default', { spec: { replicas: 3 } })
  await remove()
  expect(staying()).toEqual(['a', 'b', 'c'])
})

test('a NodeClaim that was replaced by another of its name stays', async () => {
  const { remove, cluster, staying } = await world(2)
  const end = cluster.intercept(({ verb, path }) => {
    if (verb !== 'delete' || !path.endsWith('/a')) return
    end()
    cluster.put(
      'nodeclaims',
      claimJson('a', { metadata: { uid: 'another' }, status: { conditions: [condition('Launched')] } }),
    )
  })
  await remove()
  expect(staying()).toContain('a')
})
