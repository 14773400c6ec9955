import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { claimJson, condition, goingClaim, nodeClassJson, poolJson } from '../../../test/fakes/objects.ts'
import { planningDeps } from '../../../test/fakes/planning.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import { sampleType } from '../../../test/samples/sample-objects.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { Fence } from '../fence.ts'
import { fillStaticPools, shortages } from './shortages.ts'

useFakeTime()

const fixed = (replicas: number, spec: Json = {}) => poolJson('default', { spec: { replicas, ...spec } })
const size = sampleType('Standard_D4s_v5', 4)

interface Change {
  readonly claims?: readonly Json[]
  readonly types?: readonly unknown[]
  readonly staticCapacity?: boolean
}

/** A cluster with a NodePool `default` and its NodeClaims, and one size to buy. */
async function world(pool: Json, { claims = [], types = [size], staticCapacity = true }: Change = {}) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', pool)
  cluster.put('aksnodeclasses', nodeClassJson())
  for (const claim of claims) cluster.put('nodeclaims', claim)
  const known = await planningDeps(cluster)
  const deps = { ...known.deps, staticCapacity, catalogue: { instanceTypesFor: () => types } as never }
  // What a process remembers begins with its first look.
  shortages(deps)
  return {
    ...known,
    cluster,
    short: () => shortages(deps).pools.map(({ metadata }) => metadata.name),
    retryAtMs: () => shortages(deps).retryAtMs,
    fill: async () => ended(fillStaticPools(deps, await Fence.take(deps, 'joiner-planner-fence', 'test'))),
    names: () => cluster.names('nodeclaims'),
    /** A NodeClaim goes, and the cache has heard so. */
    remove: async (name: string) => {
      cluster.remove('nodeclaims', name)
      await ended(known.deps.cache.catchUp(['NodeClaim']))
    },
  }
}

// reference/karpenter-core.md 3.16
test.each<[string, number, readonly Json[], Json, number]>([
  ['nothing that it has', 2, [claimJson('a'), claimJson('b')], {}, 0],
  ['what is missing', 3, [claimJson('a')], {}, 2],
  ['what follows a claim that goes', 2, [claimJson('a'), goingClaim('b')], {}, 1],
  ['nothing beyond its limit, to which claims that go count', 3, [claimJson('a'), goingClaim('b')], { nodes: '2' }, 0],
  ['as much as its limit allows', 5, [claimJson('a')], { nodes: '3' }, 2],
  ['nothing with 0 replicas', 0, [], {}, 0],
])('a static pool gets %s', async (_, replicas, claims, limits, created) => {
  const { fill, names, short, cluster } = await world(fixed(replicas, { limits }), { claims })
  expect(short()).toEqual(created === 0 ? [] : ['default'])
  const outcome = await fill()
  expect(names()).toHaveLength(claims.length + created)
  expect(outcome).toBe(created === 0 ? undefined : 'planned')
  const made = cluster.all('nodeclaims').filter(({ metadata }) => metadata.annotations['joiner.sh/for-replicas'])
  expect(made.map(({ metadata }) => metadata.annotations['joiner.sh/for-replicas'])).toEqual(
    Array.from({ length: created }, () => String(replicas)),
  )
  expect(short()).toEqual([])
})

test('each created claim has its lifecycle and owner, and waits for no pod', async () => {
  const { fill, cluster, lifecycles } = await world(fixed(2))
  await fill()
  const claims = cluster.all('nodeclaims')
  expect(lifecycles.started.toSorted()).toEqual(claims.map(({ metadata }) => metadata.name))
  for (const { metadata } of claims) {
    expect(metadata).toMatchObject({ ownerReferences: [{ kind: 'NodePool', name: 'default' }] })
    expect(metadata.annotations).not.toHaveProperty('joiner.sh/planned-pods')
  }
})

test.each<[string, Json, Change]>([
  ['its gate is off', fixed(2), { staticCapacity: false }],
  ['the pool is not ready', { ...fixed(2), status: { conditions: [condition('Ready', 'False')] } }, {}],
  ['the pool has no replicas', poolJson('default'), {}],
])('nothing is created while %s', async (_, pool, change) => {
  const { short, fill, names } = await world(pool, change)
  expect(short()).toEqual([])
  await fill()
  expect(names()).toEqual([])
})

test('a pool for which nothing can be bought is reported and looked at again after 10 s', async () => {
  const requirements = [{ key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] }]
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
  const { short, retryAtMs, reported } = await world(fixed(2, { template: { spec: { nodeClassRef, requirements } } }))
  expect(short()).toEqual([])
  expect(retryAtMs()).toBe(Date.now() + 10_000)
  expect(reported).toContainEqual({
    reason: 'NoCompatibleInstanceTypes',
    about: 'NodePool/default',
    message: 'NodePool requirements filtered out all compatible available instance types',
  })
})

test('before sizes are known nothing is reported', async () => {
  const { short, reported } = await world(fixed(2), { types: [] })
  expect(short()).toEqual([])
  expect(reported).toEqual([])
})

test('a limit below the replicas is logged once for each state of the pool', async () => {
  const { short, logged, cluster } = await world(fixed(3, { limits: { nodes: '1' } }), { claims: [claimJson('a')] })
  const lines = () => logged.filter((line) => line.includes('nodepool node limit reached'))
  short()
  expect(lines()).toHaveLength(1)
  cluster.edit('nodepools', 'default', { metadata: { generation: 2 } })
  short()
  short()
  expect(lines()).toHaveLength(2)
})

test.each([
  ['no limit', {}],
  ['a limit that is no lower', { nodes: '1' }],
])('a pool that has its replicas and %s is not logged as limited', async (_, limits) => {
  const { short, logged } = await world(fixed(1, { limits }), { claims: [claimJson('a')] })
  expect(short()).toEqual([])
  expect(logged).toEqual([])
})

describe('a pool whose NodeClaims fail', () => {
  const notYet = (name: string) => claimJson(name, { status: { conditions: [condition('Registered', 'Unknown')] } })

  test('rests for 10 s when one ends before its Node registers, and is filled then', async () => {
    const { remove, short, retryAtMs } = await world(fixed(1), { claims: [notYet('a')] })
    await remove('a')
    expect(short()).toEqual([])
    expect(retryAtMs()).toBe(Date.now() + 10_000)
    await ended(new Promise((resolve) => setTimeout(resolve, 10_001)))
    expect(short()).toEqual(['default'])
  })

  test('does not rest when a registered one ends, nor when it was scaled down', async () => {
    const scaledDown = claimJson('b', {
      metadata: { annotations: { 'joiner.sh/scaled-down-to': '1' } },
      status: { conditions: [condition('Registered', 'Unknown')] },
    })
    const { remove, short } = await world(fixed(2), { claims: [claimJson('a'), scaledDown] })
    await remove('a')
    await remove('b')
    expect(short()).toEqual(['default'])
  })

  test('rests no more when it is edited, or when a Node registers', async () => {
    const { cluster, remove, short } = await world(fixed(3), { claims: [notYet('a'), notYet('b')] })
    await remove('a')
    expect(short()).toEqual([])
    cluster.edit('nodepools', 'default', { metadata: { generation: 2 } })
    expect(short()).toEqual(['default'])
    cluster.edit('nodepools', 'default', { metadata: { generation: 1 } })
    expect(short()).toEqual([])
    cluster.edit('nodeclaims', 'b', { status: { conditions: [condition('Registered')] } })
    expect(short()).toEqual(['default'])
  })

  test('rests when the API server refuses a claim', async () => {
    const { cluster, short, fill, names } = await world(fixed(2))
    cluster.intercept(({ verb, path }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims')) throw new ApiError(422, '', 'NodeClaim is invalid: no')
    })
    await fill()
    expect(names()).toEqual([])
    expect(short()).toEqual([])
  })
})

test('a pool that was scaled down a moment ago gets nothing that it needs no more', async () => {
  const { cluster, fill, names } = await world(fixed(5))
  cluster.lag()
  cluster.edit('nodepools', 'default', { spec: { replicas: 1 } })
  await fill()
  expect(names()).toHaveLength(1)
})

test('a paused provisioning creates nothing', async () => {
  const { cluster, fill, names } = await world(fixed(2))
  cluster.put('configmaps', { metadata: { name: 'joiner-pauses', namespace: 'joiner' }, data: { provisioning: '{}' } })
  expect(await fill()).toBe('paused')
  expect(names()).toEqual([])
})
