import { describe, expect, test } from 'vitest'
import { parseResources } from '../../core/resources.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { at, claimJson, nodeClassJson, nodeJson, poolJson } from '../../test/fakes/objects.ts'
import { plannedClaim, planningDeps } from '../../test/fakes/planning.ts'
import { ended, useFakeTime } from '../../test/fakes/time.ts'
import { samplePod } from '../../test/samples/sample-objects.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'
import { createClaims } from './create-claims.ts'
import { Fence } from './fence.ts'
import { PoolLimits } from './pool-limits.ts'

useFakeTime()

async function world(pool: Json = {}) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson('default', pool))
  cluster.put('aksnodeclasses', nodeClassJson())
  const known = await planningDeps(cluster)
  return {
    cluster,
    ...known,
    create: async (planned: readonly PlannedNodeClaim[]) => {
      const fence = await Fence.take(known.deps, 'joiner-planner-fence', 'test')
      return ended(createClaims(known.deps, fence, planned))
    },
    claims: () => cluster.all('nodeclaims'),
  }
}

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => plannedClaim({ pods: [samplePod(`p${index}`)] }))
const takesOver = (cluster: FakeCluster) =>
  cluster.edit('leases', 'joiner-planner-fence', { spec: { holderIdentity: 'successor' } }, 'joiner')
const pauses = (cluster: FakeCluster) =>
  cluster.put('configmaps', { metadata: { name: 'joiner-pauses', namespace: 'joiner' }, data: { provisioning: '{}' } })

describe('a planned claim', () => {
  test('is created with finalizer, owner, hash and lifecycle, and its pods are expected there', async () => {
    const { create, claims, lifecycles, deps, reported } = await world()
    const outcome = await create([plannedClaim({ pods: [samplePod('web')] })])
    const [claim] = claims()
    const name = claim?.metadata.name ?? ''
    expect(outcome).toEqual({ kind: 'created', names: [name], refused: 0, failed: [] })
    expect(name).toMatch(/^default-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    expect(claim?.metadata).toMatchObject({
      finalizers: ['karpenter.sh/termination'],
      labels: { 'karpenter.sh/nodepool': 'default' },
      ownerReferences: [{ kind: 'NodePool', name: 'default', uid: 'uid-default', blockOwnerDeletion: true }],
    })
    expect(claim?.metadata.annotations['karpenter.sh/nodepool-hash']).toBe(
      deps.cache.nodePools.get('default')?.template.hash,
    )
    expect(claim?.spec).toMatchObject({ resources: { requests: { cpu: '1', memory: '1Gi', pods: '3' } } })
    expect(lifecycles.started).toEqual([name])
    expect([...deps.nominations.targets(Date.now())]).toEqual([name])
    expect(reported.map(({ reason, message }) => [reason, message])).toEqual([
      ['Nominated', `Pod should schedule on: nodeclaim/${name}`],
    ])
  })

  test('has what its NodePool says of nodes', async () => {
    const spec = {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requirements: [],
      taints: [{ key: 'a', effect: 'NoSchedule' }],
      startupTaints: [{ key: 'b', effect: 'NoExecute' }],
      expireAfter: '720h',
      terminationGracePeriod: '1h',
    }
    const { create, claims } = await world({ spec: { template: { metadata: { annotations: { own: 'x' } }, spec } } })
    await create([plannedClaim({ minValuesRelaxed: true })])
    const { requirements: _, ...copied } = spec
    expect(claims()[0]?.spec).toMatchObject(copied)
    expect(claims()[0]?.metadata.annotations).toMatchObject({
      own: 'x',
      'karpenter.sh/nodeclaim-min-values-relaxed': 'true',
    })
  })

  test('is there although its lifecycle could not be started: the bridge does that', async () => {
    const { create, claims, deps } = await world()
    deps.lifecycles.start = async () => {
      throw new Error('temporal is away')
    }
    expect(await create([plannedClaim()])).toMatchObject({ kind: 'created', refused: 0 })
    expect(claims()).toHaveLength(1)
  })
})

describe('a claim that the API server refuses', () => {
  const tooMany = () => new ApiError(422, 'Invalid', 'NodeClaim is invalid: spec.requirements: Too many')

  test('fails alone: the others are created, and its pods wait and get an event', async () => {
    const { cluster, create, claims, deps, reported } = await world()
    const bad = plannedClaim({ pods: [samplePod('bad', { nodeSelector: { bad: 'x' } })], labels: { bad: 'x' } })
    cluster.intercept(({ verb, body }) => {
      if (verb === 'create' && JSON.stringify(body).includes('"bad":"x"')) throw tooMany()
    })
    expect(await create([bad, ...many(20)])).toMatchObject({ kind: 'created', refused: 1 })
    expect(claims()).toHaveLength(20)
    expect(reported.filter(({ reason }) => reason === 'FailedScheduling').map(({ about }) => about)).toEqual([
      'Pod/bad',
    ])
    const isWaiting = (pod: ReturnType<typeof samplePod>) => deps.refusedClaims.isWaiting(deps, pod, Date.now())
    expect([isWaiting(bad.pods[0] as never), isWaiting(samplePod('p1'))]).toEqual([true, false])
  })

  test('that it would refuse is not even sent', async () => {
    const { cluster, create } = await world()
    const requirements = [
      { key: 'karpenter.azure.com/sku-hyperv-generation', operator: 'In' as const, values: ['x'.repeat(64)] },
    ]
    expect(await create([plannedClaim({ requirements })])).toMatchObject({ refused: 1 })
    expect(cluster.attempts.filter((attempt) => attempt.startsWith('create /apis/karpenter.sh'))).toEqual([])
  })

  test.each([500, 429, 403])('for a reason that is not about it (%i) ends the pass', async (code) => {
    const { cluster, create, deps } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims')) throw new ApiError(code, 'x', 'not now')
    })
    await expect(create([plannedClaim({ pods: [samplePod('web')] })])).rejects.toThrow('not now')
    expect(deps.refusedClaims.isWaiting(deps, samplePod('web'), Date.now())).toBe(false)
  })
})

test('claims of a NodePool for which a webhook fails keep none of another NodePool from being created', async () => {
  const { cluster, create, claims, deps } = await world()
  cluster.put('nodepools', poolJson('guarded'))
  await deps.cache.catchUp(['NodePool'])
  cluster.intercept(({ verb, body }) => {
    if (verb === 'create' && JSON.stringify(body).includes('guarded'))
      throw new ApiError(500, 'InternalError', 'Internal error occurred: failed calling webhook "guard.example.com"')
  })
  const guarded = many(40).map((claim) => ({ ...claim, nodePool: 'guarded' }))
  expect(await create([...guarded, ...many(20)])).toMatchObject({ kind: 'created', refused: 0, failed: guarded })
  expect(claims()).toHaveLength(20)
  expect(cluster.attempts.filter((attempt) => attempt.endsWith('/nodeclaims')).length).toBeLessThan(60)
})

describe('between two creations', () => {
  test('a pause applies: no further claim is created', async () => {
    const { cluster, create, claims } = await world()
    let created = 0
    cluster.intercept(async ({ verb, path }) => {
      if (verb !== 'create' || !path.endsWith('/nodeclaims')) return
      created += 1
      if (created === 1) pauses(cluster)
      // Each creation takes its time.
      await new Promise((resolve) => setTimeout(resolve, 600))
    })
    expect(await create(many(100))).toMatchObject({ kind: 'paused' })
    expect(claims().length).toBeLessThan(40)
    expect(claims().length).toBeGreaterThan(0)
  })

  test('an earlier pause lets none through', async () => {
    const { cluster, create, claims } = await world()
    pauses(cluster)
    expect(await create(many(3))).toEqual({ kind: 'paused', names: [], refused: 0, failed: [] })
    expect(claims()).toEqual([])
  })

  test('an attempt that was taken over stops', async () => {
    const { cluster, create, claims } = await world()
    let created = 0
    cluster.intercept(async ({ verb, path }) => {
      if (verb !== 'create' || !path.endsWith('/nodeclaims')) return
      created += 1
      if (created === 1) takesOver(cluster)
      await new Promise((resolve) => setTimeout(resolve, 600))
    })
    await expect(create(many(100))).rejects.toThrow('names another planning attempt')
    expect(claims().length).toBeLessThan(40)
  })
})

describe('the limits of a pool', () => {
  const limited = (limits: Json) => world({ spec: { limits } })

  test.each<[string, Json, number]>([
    ['of cores', { cpu: '2' }, 2],
    ['of nodes', { nodes: '3' }, 3],
    ['of memory', { memory: '1Gi' }, 1],
    ['of nothing that nodes have', { 'example.com/x': '1' }, 5],
    ['without room', { cpu: '0' }, 0],
  ])('%s let so many claims through', async (_, limits, count) => {
    const { create, claims, reported } = await limited(limits)
    await create(many(5))
    expect(claims()).toHaveLength(count)
    expect(reported.filter(({ reason }) => reason === 'FailedScheduling')).toHaveLength(5 - count)
  })

  test('count nodes that are there, those on their way, and not those that leave', async () => {
    const { cluster, deps } = await limited({ nodes: '3' })
    const admitted = async () => {
      const limits = new PoolLimits(deps)
      const { kind } = await limits.admit(plannedClaim())
      if (kind === 'admitted') limits.giveBack(plannedClaim())
      return kind
    }
    cluster.put('nodeclaims', claimJson('a'))
    cluster.put('nodes', nodeJson('a'))
    cluster.put(
      'nodeclaims',
      claimJson('on-its-way', { status: { nodeName: undefined, providerID: undefined, conditions: [] } }),
    )
    expect(await admitted()).toBe('admitted')
    cluster.put('nodeclaims', claimJson('c'))
    expect(await admitted()).toBe('limitExceeded')
    cluster.edit('nodeclaims', 'c', { metadata: { deletionTimestamp: at(0) } })
    expect(await admitted()).toBe('admitted')
    cluster.edit('nodeclaims', 'c', {
      metadata: { deletionTimestamp: null, labels: { 'karpenter.sh/nodepool': 'other' } },
    })
    expect(await admitted()).toBe('admitted')
  })

  test('do not count what the new claims replace', async () => {
    const { cluster, deps } = await limited({ nodes: '1' })
    cluster.put('nodeclaims', claimJson('a'))
    const admitted = async (without: readonly string[]) =>
      (await new PoolLimits(deps, new Set(without)).admit(plannedClaim())).kind
    expect([await admitted([]), await admitted(['a']), await admitted(['b'])]).toEqual([
      'limitExceeded',
      'admitted',
      'limitExceeded',
    ])
  })

  test('are those of the API server now, not those of the plan', async () => {
    const { cluster, deps } = await limited({ nodes: '5' })
    cluster.lag()
    cluster.edit('nodepools', 'default', { spec: { limits: { nodes: '0' } } })
    expect(await new PoolLimits(deps).admit(plannedClaim())).toMatchObject({
      kind: 'limitExceeded',
      message: expect.stringContaining('NodePool default: spec.limits') as string,
    })
  })

  test('regain the room of what was admitted and not created', async () => {
    const { deps } = await limited({ cpu: '1' })
    const limits = new PoolLimits(deps)
    const planned = plannedClaim({ requests: parseResources({ cpu: '1' }) })
    expect((await limits.admit(planned)).kind).toBe('admitted')
    expect((await limits.admit(planned)).kind).toBe('limitExceeded')
    limits.giveBack(planned)
    expect((await limits.admit(planned)).kind).toBe('admitted')
  })

  test('are one count for provisioning and disruption that create at the same time', async () => {
    const { cluster, deps } = await limited({ nodes: '3' })
    const [provisioning, disruption] = [new PoolLimits(deps), new PoolLimits(deps)]
    const kindsOf = async (...all: readonly PoolLimits[]) => {
      const kinds: string[] = []
      for (const limits of all) kinds.push((await limits.admit(plannedClaim())).kind)
      return kinds
    }
    expect(await kindsOf(provisioning, disruption)).toEqual(['admitted', 'admitted'])
    // One of them is there, the other is still being created.
    cluster.put('nodeclaims', claimJson('a'))
    provisioning.created(plannedClaim())
    const later = new PoolLimits(deps)
    expect(await kindsOf(later, provisioning, disruption, later)).toEqual([
      'admitted',
      'limitExceeded',
      'limitExceeded',
      'limitExceeded',
    ])
    disruption.giveBack(plannedClaim())
    expect(await kindsOf(provisioning)).toEqual(['admitted'])
  })

  test('regain the room of a claim that could not even be requested', async () => {
    const { cluster, deps, create, claims } = await limited({ nodes: '1' })
    const { tracing } = deps
    const broken = {
      ...tracing,
      current: () => {
        throw new Error('no trace')
      },
    }
    Object.assign(deps, { tracing: broken })
    await expect(create(many(1))).rejects.toThrow('no trace')
    Object.assign(deps, { tracing })
    expect(claims()).toEqual([])
    await create(many(1))
    expect(cluster.names('nodeclaims')).toHaveLength(1)
  })

  test.each<[string, (cluster: FakeCluster) => void]>([
    ['that is gone', (cluster) => cluster.remove('nodepools', 'default')],
    ['that is going', (cluster) => cluster.edit('nodepools', 'default', { metadata: { deletionTimestamp: at(0) } })],
  ])('of a pool %s: no claim is created for it', async (_, change) => {
    const { cluster, create, claims } = await world()
    change(cluster)
    expect(await create(many(2))).toEqual({ kind: 'created', names: [], refused: 0, failed: [] })
    expect(claims()).toEqual([])
  })
})
