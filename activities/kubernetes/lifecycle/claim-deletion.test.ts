import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { claimJson, condition, nodeJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { samplePolicy } from '../../../test/samples/sample-objects.ts'
import type { Json } from '../client/answers.ts'
import type { GiveUpReason } from '../contract.ts'
import { giveUp, observe } from './observe.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const minute = 60_000
const nodeRules = {
  interruptions: [{ type: 'VMEventScheduled', status: 'True' as const }],
  repairs: [samplePolicy('Ready', 'False', { tolerationMs: minute })],
}
const sick = { status: { conditions: [condition('Ready', 'False')] } }
const held = { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } }
const waiting = (...types: readonly string[]) => ({
  status: { nodeName: undefined, conditions: types.map((type) => condition(type)) },
})
const marks = ['joiner.sh/repaired-for', 'joiner.sh/interrupted', 'karpenter.sh/nodeclaim-termination-timestamp']

function world(claim: Json = claimJson('a'), node?: Json) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  cluster.put('nodeclaims', claim)
  if (node !== undefined) cluster.put('nodes', node)
  const { deps } = kubernetesDeps(cluster)
  const metadata = () => cluster.object('nodeclaims', 'a')?.metadata
  return {
    cluster,
    observe: async () => (await ended(observe({ ...deps, nodeRules }, ref))).step,
    giveUp: (reason: GiveUpReason) => giveUp(deps, { claim: ref, reason, message: 'late' }),
    isGoing: () => metadata()?.deletionTimestamp !== undefined,
    marks: () => marks.filter((key) => metadata()?.annotations[key] !== undefined),
    /** Changes the claim just before the first request of this kind for it takes effect. */
    before: (verb: 'patch' | 'delete', change: Json) => {
      const stop = cluster.intercept((request) => {
        if (request.verb !== verb || !request.path.includes('/nodeclaims/a')) return
        stop()
        cluster.edit('nodeclaims', 'a', change)
      })
    },
  }
}

describe('a claim that changes while its DELETE is on its way', () => {
  test('is kept when it is held by then: its repair waits', async () => {
    const { before, observe, isGoing, marks: left } = world(claimJson('a'), nodeJson('a', sick))
    await pass(minute)
    before('delete', held)
    expect(await observe()).toEqual({ kind: 'steady' })
    expect([isGoing(), left()]).toEqual([false, []])
  })

  test('is kept when it is held before the repair is written on it', async () => {
    const { before, observe, isGoing, marks: left } = world(claimJson('a'), nodeJson('a', sick))
    await pass(minute)
    before('patch', held)
    expect(await observe()).toEqual({ kind: 'steady' })
    expect([isGoing(), left()]).toEqual([false, []])
  })

  test('is kept when it is held by then, though its Node is gone', async () => {
    const { before, observe, isGoing } = world()
    await observe()
    await pass(2 * minute)
    before('delete', held)
    expect((await observe()).kind).toBe('steady')
    expect(isGoing()).toBe(false)
  })

  test('is kept when its Node was registered by then', async () => {
    const { before, giveUp: ends, isGoing } = world(claimJson('a', waiting('Launched')))
    before('delete', { status: { conditions: [condition('Launched'), condition('Registered')] } })
    expect(await ends('registration_timeout')).toEqual({ kind: 'kept' })
    expect(isGoing()).toBe(false)
  })

  test('goes all the same when that changes nothing', async () => {
    const { before, observe, isGoing } = world(claimJson('a'), nodeJson('a', sick))
    await pass(minute)
    before('delete', { metadata: { labels: { other: 'x' } } })
    expect(await observe()).toEqual({ kind: 'terminate' })
    expect(isGoing()).toBe(true)
  })
})

test('a claim whose Node has joined is not given up for its registration, though that was not registered in time', async () => {
  const node = nodeJson('a', { metadata: { ownerReferences: [] } })
  const { giveUp: ends, isGoing } = world(claimJson('a', waiting('Launched')), node)
  expect(await ends('registration_timeout')).toEqual({ kind: 'kept' })
  expect(isGoing()).toBe(false)
})

test.each<[string, Json]>([
  ['recovered', { 'joiner.sh/repaired-for': 'Ready is False' }],
  ['is not interrupted any more', { 'joiner.sh/interrupted': 'VMEventScheduled' }],
])('a claim whose Node %s after a crash keeps no end of its pods: its next drain would go by it', async (_, mark) => {
  const annotations = { ...mark, 'karpenter.sh/nodeclaim-termination-timestamp': '2026-01-01T00:00:00Z' }
  const { observe, marks: left } = world(claimJson('a', { metadata: { annotations } }), nodeJson('a'))
  expect(await observe()).toEqual({ kind: 'steady' })
  expect(left()).toEqual([])
})
