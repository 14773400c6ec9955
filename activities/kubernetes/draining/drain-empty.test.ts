import { describe, expect, test } from 'vitest'
import { type Given, ref, world } from '../../../test/fakes/drain-world.ts'
import {
  attachmentJson,
  claimJson,
  condition,
  daemonJson,
  goingClaim,
  nodeJson,
  podJson,
} from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { livePodsOn } from '../lifecycle/live-pods.ts'
import { drainDue, drainEmpty } from './drain.ts'

useFakeTime()

const taintedNode = nodeJson('a', { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } })

/** A claim that a command deletes, whose Node it tainted so many seconds ago. */
const disrupted = (seconds: number): Given => ({
  claim: goingClaim('a', {
    status: { conditions: [condition('Launched'), condition('DisruptionReason', 'True', -seconds)] },
  }),
  nodes: [taintedNode],
})

describe('why a NodeClaim goes is known before a look', () => {
  const due = ({ deps }: ReturnType<typeof world>) => {
    const claim = deps.cache.nodeClaims.get('a')
    return claim && drainDue(deps, claim)
  }

  test.each<[string, Given]>([
    ['whose taint is younger', disrupted(4)],
    ['that no command tainted', { ...disrupted(60), nodes: [nodeJson('a')] }],
    ['that has a pod', { ...disrupted(60), pods: [podJson('web', 'a')] }],
  ])('of a Node %s', (_, given) => {
    const known = world(given)
    const deletedMs = Date.parse(known.cluster.object('nodeclaims', 'a')?.metadata.deletionTimestamp ?? '')
    expect(due(known)).toEqual({ went: { kind: 'deleted' }, drainingMs: deletedMs })
  })

  test.each<[string, Given]>([
    ['of a Node that the look drains', disrupted(60)],
    ['of a Node that is gone', { ...disrupted(60), nodes: [] }],
    ['while nobody deletes it', { claim: claimJson('a'), pods: [podJson('web', 'a')] }],
  ])('and not %s', (_, given) => {
    expect(due(world(given))).toBeUndefined()
  })
})

describe('an empty node', () => {
  test('that a command tainted long enough ago is drained at once, by one write of its conditions', async () => {
    const tolerant = daemonJson('logs', 'a', { spec: { tolerations: [{ operator: 'Exists' }] } })
    const { cluster, deps, conditions } = world({ ...disrupted(6), pods: [tolerant] })
    expect(await ended(drainEmpty(deps, ref))).toBe(true)
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=True'])
    expect(cluster.object('nodes', 'aks-a')?.metadata.deletionTimestamp).toBeDefined()
    expect(cluster.attempts.filter((attempt) => attempt.endsWith('/nodeclaims/a/status'))).toHaveLength(1)
    expect(cluster.names('pods')).toEqual(['logs'])
  })

  test.each<[string, Given]>([
    ['whose taint is younger', disrupted(4)],
    ['that no command tainted', { ...disrupted(60), nodes: [nodeJson('a')] }],
    ['that has a pod', { ...disrupted(60), pods: [podJson('web', 'a')] }],
    ['that is gone', { ...disrupted(60), nodes: [] }],
  ])('%s is left as it is', async (_, given) => {
    const { cluster, deps } = world(given)
    const before = cluster.snapshot()
    expect(await ended(drainEmpty(deps, ref))).toBe(false)
    expect(cluster.snapshot()).toEqual(before)
  })

  test('is left as it is while the API server is busy', async () => {
    const { cluster, deps } = world(disrupted(60))
    const before = cluster.snapshot()
    const client = Object.assign(Object.create(deps.client), { isBusy: true })
    expect(await ended(drainEmpty({ ...deps, client }, ref))).toBe(false)
    expect(cluster.snapshot()).toEqual(before)
  })

  test.each<[string, (known: ReturnType<typeof world>) => void]>([
    ['whose volume is attached', ({ cluster }) => cluster.put('volumeattachments', attachmentJson('data', 'a'))],
    [
      'that got a pod which the watch has not reported',
      ({ cluster }) => {
        cluster.lag()
        cluster.put(
          'pods',
          podJson('web', 'a', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }),
        )
      },
    ],
  ])('%s: after a second it has a drain of its own', async (_, change) => {
    const known = world(disrupted(60))
    change(known)
    const startMs = Date.now()
    expect(await ended(drainEmpty(known.deps, ref))).toBe(false)
    expect(Date.now() - startMs).toBe(1000)
    expect(known.conditions()).not.toContain('VolumesDetached=True')
  })

  test('that takes longer than a second is counted once, by whichever drain ends first', async () => {
    const { cluster, deps, drain, registry } = world(disrupted(60))
    cluster.intercept(({ verb, path }) => {
      const isSlow = verb === 'patch' && path.endsWith('/nodeclaims/a/status')
      return isSlow ? new Promise((resolve) => setTimeout(resolve, 3000)) : undefined
    })
    expect(await ended(drainEmpty(deps, ref))).toBe(false)
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 0 })
    await pass(10_000)
    const counted = await registry.getSingleMetric('karpenter_nodes_drained_total')?.get()
    expect(counted?.values.map(({ value }) => value)).toEqual([1])
  })

  test.each([
    ['just now is not read again', 60, 9000, 0],
    ['before the last pod could be bound is', 8, 5000, 1],
    ['a while ago is', 60, 11_000, 1],
  ])('whose pods were read %s', async (_, taintedFor, agoMs, reads) => {
    const { cluster, deps } = world(disrupted(taintedFor))
    let lists = 0
    await livePodsOn({ ...deps, now: () => deps.now() - agoMs }, 'aks-a')
    cluster.intercept(({ verb, path }) => {
      if (verb === 'list' && path.endsWith('/pods')) lists += 1
    })
    expect(await ended(drainEmpty(deps, ref))).toBe(true)
    expect(lists).toBe(reads)
  })
})
