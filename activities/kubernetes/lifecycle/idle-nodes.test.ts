import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { claimJson, daemonJson, mirrorJson, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { taintIdleNodes } from './idle-nodes.ts'

useFakeTime()

const taint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }

function world({ node = {}, pods = [] }: { readonly node?: Json; readonly pods?: readonly Json[] }) {
  const cluster = new FakeCluster()
  cluster.put('nodes', nodeJson('a', node))
  for (const pod of pods) cluster.put('pods', pod)
  const { deps } = kubernetesDeps(cluster)
  return {
    cluster,
    ask: async (...nodes: readonly string[]) => {
      const { pods: counts } = await taintIdleNodes(
        deps,
        nodes.length === 0 ? ['aks-a'] : nodes,
        AbortSignal.timeout(60_000),
      )
      return counts
    },
    taints: () => cluster.object('nodes', 'aks-a')?.spec.taints ?? [],
  }
}

describe('a Node whose NodeClaim is lost', () => {
  test('is tainted without pods; those of DaemonSets, of the kubelet and ended ones do not count', async () => {
    const pods = [daemonJson('d', 'a'), mirrorJson('m', 'a'), podJson('done', 'a', { status: { phase: 'Succeeded' } })]
    const { ask, taints } = world({ pods })
    expect(await ask()).toEqual({ 'aks-a': 0 })
    expect(taints()).toMatchObject([taint])
    expect(await ask()).toEqual({ 'aks-a': 0 })
    expect(taints()).toMatchObject([taint])
  })

  test('with pods is left as it is', async () => {
    const { cluster, ask } = world({ pods: [podJson('web', 'a')] })
    expect(await ask()).toEqual({ 'aks-a': 1 })
    expect(cluster.attempts).toEqual([])
  })

  test('that gets its first pod before the taint loses the taint again', async () => {
    const { cluster, ask, taints } = world({})
    const end = cluster.intercept(({ verb, path }) => {
      if (verb !== 'patch' || !path.endsWith('/nodes/aks-a')) return
      end()
      cluster.lag()
      cluster.put('pods', podJson('web', 'a'))
    })
    expect(await ask()).toEqual({ 'aks-a': 1 })
    expect(taints()).toEqual([])
  })

  test('that a tolerant pod came to loses the taint of an earlier pass', async () => {
    const { ask, taints } = world({ node: { spec: { ...spec, taints: [taint] } }, pods: [podJson('web', 'a')] })
    expect(await ask()).toEqual({ 'aks-a': 1 })
    expect(taints()).toEqual([])
  })

  test.each<[string, Json]>([
    ['has the VM of another', { spec: { providerID: 'azure:///subscriptions/s/virtualMachines/aks-b' } }],
    ['names no VM', { spec: { providerID: '' } }],
    ['was made for no NodeClaim', { metadata: { labels: {}, ownerReferences: [] } }],
  ])('is not touched and not in the answer when it %s', async (_, node) => {
    const { cluster, ask } = world({ node })
    expect(await ask()).toEqual({})
    expect(cluster.attempts).toEqual([])
  })

  test.each(['in the cache', 'since a moment ago'])(
    'is not touched when a NodeClaim of the name is there %s',
    async (when) => {
      const { cluster, ask } = world({})
      if (when === 'in the cache') cluster.put('nodeclaims', claimJson('a'))
      else
        cluster.intercept(({ verb, path }) => {
          if (verb === 'get' && path.endsWith('/nodeclaims/a')) cluster.put('nodeclaims', claimJson('a'))
        })
      expect(await ask()).toEqual({})
      expect(cluster.attempts).toEqual([])
    },
  )

  test('that is gone is not in the answer', async () => {
    const { ask } = world({})
    expect(await ask('aks-b')).toEqual({})
  })
})

const spec = nodeJson('a')['spec'] as Json
