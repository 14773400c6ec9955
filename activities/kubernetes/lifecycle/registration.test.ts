import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { claimJson, condition, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { awaitRegistration } from './joining.ts'

// Each name says which test of upstream's suite nodeclaim/lifecycle, Registration, it answers to.
useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }
const taints = [
  { key: 'custom-taint', value: 'custom-value', effect: 'NoSchedule' },
  { key: 'other-custom-taint', value: 'other-custom-value', effect: 'NoExecute' },
]
const startupTaints = [
  { key: 'custom-startup-taint', value: 'custom-startup-value', effect: 'NoSchedule' },
  { key: 'other-custom-startup-taint', value: 'other-custom-startup-value', effect: 'NoExecute' },
]

/** A launched claim and the Node that its kubelet has just made. */
function world(change: { readonly metadata?: Json; readonly spec?: Json } = {}, node: Json = {}) {
  const cluster = new FakeCluster()
  cluster.put(
    'nodeclaims',
    claimJson('a', { ...change, status: { nodeName: undefined, conditions: [condition('Launched')] } }),
  )
  cluster.put(
    'nodes',
    nodeJson('a', {
      // An API server leaves out lists that are empty.
      metadata: {
        labels: { 'kubernetes.io/hostname': 'aks-a' },
        ownerReferences: undefined,
        finalizers: undefined,
        ...node,
      },
      spec: { taints: [unregistered] },
      status: { conditions: [condition('Ready', 'False')] },
    }),
  )
  const { deps, reported } = kubernetesDeps(cluster)
  return {
    cluster,
    reported,
    register: () => awaitRegistration(deps, ref, new AbortController().signal),
    claim: () => cluster.object('nodeclaims', 'a'),
    node: () => cluster.object('nodes', 'aks-a'),
  }
}

describe('upstream nodeclaim/lifecycle registration', () => {
  test('the NodeClaim is matched to the Node that comes online', async () => {
    const { register, claim } = world()
    expect(await register()).toMatchObject({ kind: 'registered', nodeName: 'aks-a' })
    expect(claim()?.status['nodeName']).toBe('aks-a')
    expect(claim()?.status.conditions.find(({ type }) => type === 'Registered')?.status).toBe('True')
  })

  test('the Node gets the NodeClaim as its owner, the finalizer and the label registered, and loses its first taint', async () => {
    const { register, node } = world()
    await register()
    const { metadata, spec } = node() ?? {}
    expect((metadata as Json | undefined)?.['ownerReferences']).toEqual([
      { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'a', uid: 'uid-a', blockOwnerDeletion: true },
    ])
    expect(metadata?.finalizers).toEqual(['karpenter.sh/termination'])
    expect(metadata?.labels['karpenter.sh/registered']).toBe('true')
    expect(spec?.taints).toEqual([])
  })

  test('labels and annotations are synced to the Node, beside its own', async () => {
    const labels = { 'karpenter.sh/nodepool': 'default', 'custom-label': 'custom-value' }
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true', 'my-custom-annotation': 'my-custom-value' }
    const { register, node } = world({ metadata: { labels, annotations } }, { annotations: { own: 'kept' } })
    await register()
    expect(node()?.metadata.labels).toMatchObject({ ...labels, 'kubernetes.io/hostname': 'aks-a' })
    const uid = { 'joiner.sh/node-uid': node()?.metadata.uid }
    expect(node()?.metadata.annotations).toEqual({ ...annotations, own: 'kept', ...uid })
  })

  test('taints and startup taints are synced to the Node', async () => {
    const { register, node } = world({ spec: { taints, startupTaints } })
    await register()
    expect(node()?.spec.taints).toEqual([...taints, ...startupTaints])
  })

  test('taints are not synced to a Node that asks for that by its label', async () => {
    const { register, node } = world(
      { spec: { taints, startupTaints } },
      { labels: { 'karpenter.sh/do-not-sync-taints': 'true' } },
    )
    await register()
    expect(node()?.spec.taints).toEqual([])
  })

  test('a Node whose kubelet says that it is registered and initialized is registered, and initialized when it is ready', async () => {
    const own = { 'joiner.sh/node-uid': 'uid-aks-a' }
    const labels = { 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' }
    const { cluster, register, claim, node } = world({ spec: { taints, startupTaints } }, { labels, annotations: own })
    cluster.edit('nodes', 'aks-a', { spec: { taints: undefined } })
    await register()
    expect(node()?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
    expect(node()?.spec.taints).toEqual([...taints, ...startupTaints])
    expect(claim()?.status.conditions.find(({ type }) => type === 'Initialized')?.status).not.toBe('True')
  })

  test('startup taints that were removed since are not synced again', async () => {
    const { cluster, register, node } = world({ spec: { taints, startupTaints } })
    await register()
    cluster.edit('nodes', 'aks-a', { spec: { taints: undefined } })
    // The activity runs again after a crash that lost what it wrote to the NodeClaim.
    cluster.edit('nodeclaims', 'a', { status: { conditions: [condition('Launched')] } })
    expect(await register()).toMatchObject({ kind: 'registered' })
    expect(node()?.spec.taints).toEqual([])
  })

  test.each([
    ['with', [unregistered], 0],
    ['without', undefined, 1],
  ])(
    'a Node that joins %s the taint unregistered is registered; an event reports that it was missing',
    async (_, has, events) => {
      const { cluster, register, node, reported } = world()
      cluster.edit('nodes', 'aks-a', {
        spec: { taints: has },
        metadata: { labels: { 'karpenter.sh/nodepool': 'default' } },
      })
      expect(await register()).toMatchObject({ kind: 'registered' })
      expect(node()?.metadata.labels['karpenter.sh/registered']).toBe('true')
      expect(reported.filter(({ reason }) => reason === 'UnregisteredTaintMissing')).toHaveLength(events)
    },
  )
})

test('a Node that only the cache still has is not registered', async () => {
  const { cluster, claim, register } = world()
  cluster.lag()
  cluster.remove('nodes', 'aks-a')
  await expect(register()).rejects.toThrow('NodeClaim a: Node aks-a is gone by now')
  expect(claim()?.status.conditions.map(({ type, status }) => `${type}=${status}`)).not.toContain('Registered=True')
})

describe('long after the registration limit', () => {
  test('a Node that is there is registered', async () => {
    const { register } = world()
    await pass(3_600_000)
    expect(await ended(register())).toMatchObject({ kind: 'registered', nodeName: 'aks-a' })
  })

  test('a Node that the watch has not reported yet is registered', async () => {
    const { cluster, register } = world()
    const node = cluster.object('nodes', 'aks-a') as unknown as Json
    cluster.remove('nodes', 'aks-a')
    cluster.lag()
    cluster.put('nodes', node)
    await pass(3_600_000)
    expect(await ended(register())).toMatchObject({ kind: 'registered', nodeName: 'aks-a' })
  })

  test('a Node is awaited further, if no worker was there to do so', async () => {
    const away = { 'joiner.sh/time-away': '2026-01-01T00:05:00Z/2026-01-01T01:00:00Z' }
    const { cluster, register } = world({ metadata: { annotations: away } })
    cluster.remove('nodes', 'aks-a')
    await pass(3_600_000)
    const work = register()
    await pass(9 * 60_000)
    cluster.put('nodes', nodeJson('a', { metadata: { ownerReferences: [] } }))
    expect(await ended(work)).toMatchObject({ kind: 'registered' })
  })
})
