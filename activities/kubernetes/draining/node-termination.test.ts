import { describe, expect, test } from 'vitest'
import { ref, world } from '../../../test/fakes/drain-world.ts'
import { claimJson, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { finalize } from './finalize.ts'

// Each name says which test of upstream's suite node/termination it answers to.
useFakeTime()

const tolerating = (toleration: Json): Json => podJson('odd', 'a', { spec: { tolerations: [toleration] } })
const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }

describe('upstream node/termination', () => {
  test.each<[string, Json, readonly string[]]>([
    ['that tolerates the taint, operator Equal', tolerating({ ...disrupted, operator: 'Equal', value: '' }), ['odd']],
    ['that tolerates the taint, operator Exists', tolerating({ ...disrupted, operator: 'Exists' }), ['odd']],
    ['that tolerates another value of the taint', tolerating({ ...disrupted, operator: 'Equal', value: 'x' }), []],
    [
      'that tolerates unschedulable nodes',
      tolerating({ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }),
      [],
    ],
    ['without an owner', podJson('odd', 'a', { metadata: { ownerReferences: [] } }), []],
    ['that has succeeded', podJson('odd', 'a', { status: { phase: 'Succeeded' } }), ['odd']],
    ['that has failed', podJson('odd', 'a', { status: { phase: 'Failed' } }), ['odd']],
  ])('a pod %s holds up nothing; what is left on the node: ', async (_, odd, left) => {
    const { cluster, drain } = world({ pods: [odd, podJson('web', 'a')] })
    expect(await ended(drain())).toMatchObject({ kind: 'drained' })
    expect(cluster.names('pods')).toEqual(left)
  })

  test('the Node stays until the last of its pods is gone, and the NodeClaim says so', async () => {
    const { cluster, deps, drain, conditions } = world({ pods: [podJson('one', 'a'), podJson('two', 'a')] })
    cluster.podsTakeMs = Number.POSITIVE_INFINITY
    const work = drain()
    await pass(6000)
    cluster.remove('pods', 'two', 'default')
    await pass(6000)
    expect(conditions()).toEqual(['Drained=Unknown'])
    expect(cluster.object('nodes', 'aks-a')?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
    cluster.remove('pods', 'one', 'default')
    await ended(work)
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=True'])
    await ended(finalize(deps, ref))
    expect(cluster.names('nodes')).toEqual([])
  })

  test('ten Nodes of one NodeClaim drain side by side, each pod once', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `n${index}`)
    const { cluster, deps, drain } = world({
      nodes: names.map((name) => nodeJson('a', { metadata: { name, uid: name } })),
      pods: names.map((name) => podJson(`on-${name}`, 'a', { spec: { nodeName: name } })),
    })
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 10 })
    await ended(finalize(deps, ref))
    expect([cluster.names('nodes'), cluster.names('nodeclaims')]).toEqual([[], []])
    expect(cluster.attempts.filter((attempt) => attempt.startsWith('evict'))).toHaveLength(10)
  })

  test('the pod of a StatefulSet that is made again on another node is not evicted with the old one', async () => {
    const { cluster, drain } = world({ pods: [podJson('db-0', 'a')] })
    const work = drain()
    await pass(1500)
    cluster.put('pods', podJson('db-0', 'b', { metadata: { uid: 'again' } }))
    await ended(work)
    await pass(60_000)
    expect(cluster.object('pods', 'db-0', 'default')?.metadata).toMatchObject({ uid: 'again' })
    expect(cluster.object('pods', 'db-0', 'default')?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('a Node whose provider id two NodeClaims have goes with its owner, and the other NodeClaim is left alone', async () => {
    const { cluster, deps, drain } = world({ pods: [podJson('web', 'a')] })
    const providerID = cluster.object('nodes', 'aks-a')?.spec['providerID']
    cluster.put('nodeclaims', claimJson('double', { status: { providerID } }))
    const before = cluster.object('nodeclaims', 'double')
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 1 })
    await ended(finalize(deps, ref))
    expect([cluster.names('nodes'), cluster.names('nodeclaims')]).toEqual([[], ['double']])
    expect(cluster.object('nodeclaims', 'double')).toEqual(before)
  })
})
