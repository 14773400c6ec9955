import { describe, expect, test, vi } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { claimJson, condition, nodeJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { ApiError } from '../client/api-error.ts'
import { writeCounts } from './node-pool-resources.ts'

// Each name says which test of upstream's suite nodepool/counter it answers to.
useFakeTime()

const none = { cpu: '0', 'ephemeral-storage': '0', memory: '0', nodes: '0', pods: '0' }
const small = { cpu: '100m', memory: '1Gi', pods: '256' }
const large = { cpu: '500m', memory: '5Gi', pods: '1001' }

function world(pool: Json = poolJson()) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', pool)
  const { deps } = kubernetesDeps(cluster)
  const writtenAt = new Map<string, number>()
  return {
    cluster,
    count: async () => {
      await pass(5000)
      return writeCounts(deps, writtenAt)
    },
    countAtOnce: () => writeCounts(deps, writtenAt),
    resources: () => cluster.object('nodepools', 'default')?.status['resources'],
    add: (name: string, capacity: Json, node: Json | undefined = { status: { capacity } }) => {
      cluster.put('nodeclaims', claimJson(name, { status: { capacity } }))
      if (node !== undefined) cluster.put('nodes', nodeJson(name, node))
    },
  }
}

describe('upstream nodepool/counter', () => {
  test('a NodePool of another provider is not counted', async () => {
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }
    const { count, resources, add } = world(poolJson('default', { spec: { template: { spec: { nodeClassRef } } } }))
    add('a', small)
    await count()
    expect(resources()).toBeUndefined()
  })

  test('without nodes every well-known resource is zero', async () => {
    const { count, resources } = world()
    await count()
    expect(resources()).toEqual(none)
  })

  test('a NodeClaim counts as launched, and once it is initialized as its Node', async () => {
    const { cluster, count, resources, add } = world()
    add('a', small, { status: { capacity: {} } })
    const joined = [condition('Launched'), condition('Registered')]
    cluster.edit('nodeclaims', 'a', { status: { conditions: joined } })
    await count()
    expect(resources()).toEqual({ ...none, ...small, nodes: '1' })
    cluster.edit('nodeclaims', 'a', { status: { conditions: [...joined, condition('Initialized')] } })
    cluster.edit('nodes', 'aks-a', { status: { capacity: { cpu: '1', memory: '2Gi', pods: '512' } } })
    await count()
    expect(resources()).toEqual({ ...none, cpu: '1', memory: '2Gi', pods: '512', nodes: '1' })
  })

  test('counts rise with new nodes, fall with each that is deleted, and end at zero', async () => {
    const { cluster, count, resources, add } = world()
    add('a', small)
    await count()
    expect(resources()).toEqual({ ...none, ...small, nodes: '1' })
    add('b', large)
    await count()
    expect(resources()).toEqual({ ...none, cpu: '600m', memory: '6Gi', pods: '1257', nodes: '2' })
    const remove = (name: string) => {
      cluster.remove('nodes', `aks-${name}`)
      cluster.remove('nodeclaims', name)
    }
    remove('a')
    await count()
    expect(resources()).toEqual({ ...none, ...large, nodes: '1' })
    remove('b')
    await count()
    expect(resources()).toEqual(none)
  })

  test('counts are written after the clock was set back', async () => {
    const { add, countAtOnce, resources } = world()
    const rightMs = Date.now()
    vi.setSystemTime(rightMs + 31 * 86_400_000)
    await countAtOnce()
    vi.setSystemTime(rightMs)
    add('a', small)
    expect(await countAtOnce()).toBe('done')
    expect(resources()).toEqual({ ...none, ...small, nodes: '1' })
  })

  test('a burst is written once in five seconds, and what is held back stays due', async () => {
    const { count, countAtOnce, resources, add } = world()
    await count()
    add('a', small)
    expect(await countAtOnce()).toBe('due')
    expect(resources()).toEqual(none)
    expect(await count()).toBe('done')
    expect(resources()).toMatchObject({ nodes: '1' })
  })

  test('one NodePool that cannot be written does not keep others from being counted', async () => {
    const { cluster, count, resources } = world()
    cluster.put('nodepools', poolJson('bad'))
    cluster.intercept(async ({ verb, path }) => {
      if (verb !== 'patch') return
      if (path.includes('/nodepools/bad')) throw new ApiError(500, 'InternalError', 'etcd is away')
      // The other answer comes later.
      await new Promise((resolve) => setTimeout(resolve, 10))
    })
    await expect(ended(count())).rejects.toThrow('etcd is away')
    expect(resources()).toEqual(none)
  })
})
