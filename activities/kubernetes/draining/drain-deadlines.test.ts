import { describe, expect, test } from 'vitest'
import { kubernetesDeps, metricLines } from '../../../test/fakes/deps.ts'
import {
  deaf,
  drainAgain,
  type Given,
  graced,
  guarded,
  metadataOf,
  ref,
  world,
} from '../../../test/fakes/drain-world.ts'
import {
  at,
  attachmentJson,
  budgetJson,
  condition,
  goingClaim,
  nodeJson,
  podJson,
} from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { drain } from './drain.ts'

useFakeTime()

describe('a claim with a terminationGracePeriod', () => {
  test('has the end of its drain in an annotation, reported once, and the end stays', async () => {
    const { cluster, drain, reported } = world({ claim: graced(100), pods: [podJson('web', 'a')] })
    await pass(20_000)
    await ended(drain())
    expect(metadataOf(cluster)?.annotations['karpenter.sh/nodeclaim-termination-timestamp']).toBe(
      '2026-01-01T00:01:40Z',
    )
    expect(
      reported.filter(({ reason }) => reason === 'TerminationGracePeriodExpiring').map(({ about }) => about),
    ).toEqual(['NodeClaim/a', 'Node/aks-a'])
    const second = kubernetesDeps(cluster)
    await ended(drainAgain(second.deps))
    expect(second.reported.filter(({ about }) => about === 'NodeClaim/a')).toEqual([])
  })

  test('keeps an end that is stamped already, whatever the spec says', async () => {
    const stamp = { annotations: { 'karpenter.sh/nodeclaim-termination-timestamp': at(7) } }
    const claim = goingClaim('a', { metadata: stamp, spec: { terminationGracePeriod: '1h' } })
    const { cluster, drain } = world({ claim, pods: [podJson('guarded', 'a', { metadata: guarded })] })
    const startedAt = Date.now()
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now() - startedAt).toBeLessThan(10_000)
    expect(cluster.names('pods')).toEqual([])
  })

  test.each<[string, Given]>([
    ['a budget', { pods: [podJson('web', 'a')], budgets: [budgetJson('web', 0)] }],
    ['do-not-disrupt', { pods: [podJson('web', 'a', { metadata: guarded })] }],
  ])('deletes by force what %s holds, so that the pod still has its grace', async (_, given) => {
    const { cluster, drain, registry, reported } = world({ ...given, claim: graced(100) })
    cluster.podsTakeMs = 25_000
    const work = drain()
    await pass(69_000)
    expect(cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeUndefined()
    await pass(3000)
    expect(cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeDefined()
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now()).toBeLessThanOrEqual(Date.parse(at(100)))
    expect(reported.find(({ reason }) => reason === 'Disrupted')?.about).toBe('Pod/web')
    // As upstream's eviction queue, which counts force deletions like evictions.
    expect(await metricLines(registry, 'karpenter_pods_drained_total{reason="Forceful Termination"} 1')).toHaveLength(1)
  })

  test('waits past its end for pods that are terminating, until their kubelet is a minute late', async () => {
    const { cluster, drain } = world({ claim: graced(60), pods: [podJson('web', 'a')] })
    cluster.podsTakeMs = Number.POSITIVE_INFINITY
    expect(await ended(drain(), 200_000)).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(at(90)))
    expect(Date.now()).toBeLessThan(Date.parse(at(95)))
  })

  test('asks once for a pod whose kubelet is silent when that end has passed', async () => {
    const { cluster, drain, registry } = world({ claim: graced(0), pods: [podJson('web', 'a')] })
    cluster.podsTakeMs = Number.POSITIVE_INFINITY
    expect(await ended(drain(), 200_000)).toEqual({ kind: 'drained', pods: 1 })
    expect(cluster.attempts.filter((request) => request.endsWith('/pods/web'))).toHaveLength(1)
    expect(await metricLines(registry, 'karpenter_pods_drained_total{reason="Forceful Termination"} 1')).toHaveLength(1)
  })

  test('that is forced away ends with its drain: its deadline deletes no pod that a budget holds', async () => {
    const { cluster, drain } = world({
      claim: graced(100),
      pods: [podJson('web', 'a')],
      budgets: [budgetJson('web', 0)],
    })
    const work = drain()
    await pass(60_000)
    cluster.remove('nodeclaims', 'a')
    expect(await ended(work, 200_000)).toEqual({ kind: 'noNode' })
    await pass(200_000)
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test('without one a pod that may not be evicted stays for ever', async () => {
    const { cluster, drain, stop } = world({ pods: [podJson('web', 'a', { metadata: guarded })] })
    const work = drain().catch(() => {})
    await pass(3_600_000)
    stop.abort()
    await work
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test('waits for volumes until its end and not longer, and says that they were not detached', async () => {
    const { drain, conditions } = world({ claim: graced(60), attachments: [attachmentJson('disk', 'a')] })
    expect(await ended(drain(), 90_000)).toEqual({ kind: 'drained', pods: 0 })
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(at(60)))
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=False'])
  })
})

describe('an interrupted node', () => {
  const rules = { interruptions: [{ type: 'VMEventScheduled', status: 'True' as const }], repairs: [] }
  const ending = (seconds: number) => [
    condition('Ready'),
    { ...condition('VMEventScheduled'), message: `Preempt not before ${at(seconds)}` },
  ]

  test('whose end is announced while it drains gives its pods no more than that, budgets or not', async () => {
    const { cluster, deps, stop } = world({ pods: [podJson('web', 'a', { metadata: guarded })] })
    cluster.podsTakeMs = 1000
    const work = drain({ ...deps, nodeRules: rules }, { claim: ref, reported: deaf }, stop.signal)
    await pass(60_000)
    expect(cluster.names('pods')).toEqual(['web'])
    cluster.edit('nodes', 'aks-a', { status: { conditions: ending(90) } })
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now()).toBeLessThanOrEqual(Date.parse(at(91)))
    expect(metadataOf(cluster)?.annotations['karpenter.sh/nodeclaim-termination-timestamp']).toBe(
      '2026-01-01T00:01:30Z',
    )
  })

  test('ends its drain when the VM ends, though its kubelet has not said that the pods are gone', async () => {
    const { cluster, deps, stop } = world({
      nodes: [nodeJson('a', { status: { conditions: ending(20) } })],
      pods: [podJson('web', 'a')],
    })
    cluster.podsTakeMs = Number.POSITIVE_INFINITY
    const work = drain({ ...deps, nodeRules: rules }, { claim: ref, reported: deaf }, stop.signal)
    expect(await ended(work, 40_000)).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now()).toBeLessThan(Date.parse(at(23)))
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test('deletes its last pods two seconds before the VM ends, so that they can react', async () => {
    const { cluster, deps, stop } = world({
      nodes: [nodeJson('a', { status: { conditions: ending(40) } })],
      pods: [podJson('web', 'a', { metadata: guarded, spec: { terminationGracePeriodSeconds: 1 } })],
    })
    const reportedAt: number[] = []
    cluster.intercept(({ verb, path }) => {
      if (verb === 'delete' && path.endsWith('/pods/web')) reportedAt.push(Date.now())
    })
    await ended(drain({ ...deps, nodeRules: rules }, { claim: ref, reported: deaf }, stop.signal))
    expect(reportedAt[0]).toBeLessThanOrEqual(Date.parse(at(38.5)))
  })
})
