import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps, metricLines } from '../../../test/fakes/deps.ts'
import { graced, ref, world } from '../../../test/fakes/drain-world.ts'
import { goingClaim, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import { finalize } from './finalize.ts'

// Each name says which test of upstream's suite nodeclaim/lifecycle, Termination, it answers to.
useFakeTime()

const stampKey = 'karpenter.sh/nodeclaim-termination-timestamp'
const ours = 'karpenter.sh/termination'
const named = (name: string) => nodeJson('a', { metadata: { name, uid: `uid-${name}` } })

describe('upstream nodeclaim/lifecycle termination', () => {
  test('a quantity that would be written in another way when it is read is no obstacle, and stays as it was written', async () => {
    const requests = { cpu: '2000m', memory: '50000' }
    const { cluster, deps, drain } = world({
      claim: goingClaim('a', {
        metadata: { finalizers: [ours, 'example.com/kept'] },
        spec: { resources: { requests } },
      }),
    })
    await ended(drain())
    await ended(finalize(deps, ref))
    const left = cluster.object('nodeclaims', 'a')
    expect(left?.spec['resources']).toEqual({ requests })
    expect(left?.metadata.finalizers).toEqual(['example.com/kept'])
  })

  test('of several Nodes of one NodeClaim all are deleted, and only then the NodeClaim', async () => {
    const { cluster, deps, drain, registry } = world({ nodes: [named('one'), named('two'), named('three')] })
    await ended(drain())
    const nodesAtTheEnd: (readonly string[])[] = []
    cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.endsWith('/nodeclaims/a')) nodesAtTheEnd.push(cluster.names('nodes'))
    })
    await ended(finalize(deps, ref))
    expect(nodesAtTheEnd).toEqual([[]])
    expect(cluster.names('nodeclaims')).toEqual([])
    expect(await metricLines(registry, 'karpenter_nodeclaims_termination_duration_seconds_count')).toEqual([
      'karpenter_nodeclaims_termination_duration_seconds_count{nodepool="default"} 1',
    ])
  })

  test('Nodes without a provider id are no Nodes of a NodeClaim that was never launched', async () => {
    const cluster = new FakeCluster()
    cluster.put(
      'nodeclaims',
      goingClaim('a', { status: { nodeName: undefined, providerID: undefined, conditions: [] } }),
    )
    const strangers = Array.from({ length: 10 }, (_, index) => `stranger-${index}`)
    for (const name of strangers) cluster.put('nodes', { ...named(name), spec: {} })
    const { deps } = kubernetesDeps(cluster)
    const before = strangers.map((name) => cluster.object('nodes', name))
    await ended(finalize(deps, ref))
    expect(cluster.names('nodeclaims')).toEqual([])
    expect(strangers.map((name) => cluster.object('nodes', name))).toEqual(before)
  })

  test('without a terminationGracePeriod nothing is annotated', async () => {
    const { cluster, drain } = world({ pods: [podJson('web', 'a')] })
    await ended(drain())
    expect(cluster.object('nodeclaims', 'a')?.metadata.annotations).toEqual({})
    expect(cluster.object('nodes', 'aks-a')?.metadata.annotations).toEqual({})
  })

  test('with one the end is annotated before the first pod goes', async () => {
    const { cluster, drain } = world({ claim: graced(300), pods: [podJson('web', 'a')] })
    const stamps: unknown[] = []
    cluster.intercept(({ verb }) => {
      if (verb === 'evict') stamps.push(cluster.object('nodeclaims', 'a')?.metadata.annotations[stampKey])
    })
    await ended(drain())
    expect(stamps).toEqual(['2026-01-01T00:05:00Z'])
  })

  test('an annotation that is there already stays to the letter, in whatever time zone', async () => {
    const annotations = { [stampKey]: '2026-01-01T07:00:00-05:00' }
    const claim = goingClaim('a', { metadata: { annotations }, spec: { terminationGracePeriod: '300s' } })
    const { cluster, drain } = world({ claim, pods: [podJson('web', 'a')] })
    await ended(drain())
    expect(cluster.object('nodeclaims', 'a')?.metadata.annotations).toEqual(annotations)
  })
})
