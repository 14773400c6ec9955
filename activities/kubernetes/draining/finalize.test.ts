import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps, metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, daemonJson, goingClaim, mirrorJson, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { ApiError } from '../client/api-error.ts'
import { finalize } from './finalize.ts'
import { withoutFinalizer } from './node-deletion.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const ours = 'karpenter.sh/termination'
const goingNode = (finalizers: readonly string[]) =>
  nodeJson('a', { metadata: { deletionTimestamp: at(0), finalizers } })

function world(
  claim: Json | undefined = goingClaim('a'),
  nodes: readonly Json[] = [goingNode([ours])],
  pods: readonly Json[] = [],
) {
  const cluster = new FakeCluster()
  if (claim !== undefined) cluster.put('nodeclaims', claim)
  for (const node of nodes) cluster.put('nodes', node)
  for (const pod of pods) cluster.put('pods', pod)
  const known = kubernetesDeps(cluster)
  const left = () => ({ claims: cluster.names('nodeclaims'), nodes: cluster.names('nodes') })
  return {
    cluster,
    ...known,
    left,
    finalize: (isVmGone?: boolean) => finalize(known.deps, ref, { isVmGone: isVmGone ?? false }),
  }
}

const finalizersOf = (cluster: FakeCluster, resource: 'nodes' | 'nodeclaims', name: string) =>
  cluster.object(resource, name)?.metadata.finalizers

describe('the end of a claim', () => {
  test('takes its Node and the claim away', async () => {
    const { left, finalize, reported } = world()
    await ended(finalize())
    expect(left()).toEqual({ claims: [], nodes: [] })
    expect(reported.filter(({ reason }) => reason === 'Finalized').map(({ about }) => about)).toEqual([
      'Node/aks-a',
      'NodeClaim/a',
    ])
  })

  test.each<[string, Json | undefined]>([
    ['that is gone', undefined],
    ['whose name another claim has', claimJson('a', { metadata: { uid: 'other' } })],
  ])('%s is success and touches nothing', async (_, claim) => {
    const { cluster, finalize } = world(claim ?? goingClaim('b'))
    const before = cluster.snapshot()
    await finalize()
    expect(cluster.snapshot()).toEqual(before)
  })

  test('that is not being deleted is refused, and touches nothing', async () => {
    const { cluster, finalize } = world(claimJson('a'), [nodeJson('a')], [podJson('web', 'a')])
    const before = cluster.snapshot()
    await expect(finalize(true)).rejects.toThrow('metadata.deletionTimestamp is not set')
    expect(cluster.snapshot()).toEqual(before)
  })

  test('that has no Node takes the claim away', async () => {
    const { left, finalize } = world(goingClaim('a', { status: { nodeName: undefined, providerID: undefined } }), [])
    await finalize()
    expect(left()).toEqual({ claims: [], nodes: [] })
  })

  test('deletes a Node that is not being deleted yet', async () => {
    const { left, finalize } = world(goingClaim('a'), [nodeJson('a')])
    await ended(finalize())
    expect(left()).toEqual({ claims: [], nodes: [] })
  })

  test.each<[string, Json]>([
    ['of an AKS pool', nodeJson('a', { metadata: { ownerReferences: [], labels: {} } })],
    [
      'of an earlier claim of the name',
      nodeJson('a', {
        metadata: {
          ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'a', uid: 'earlier' }],
        },
      }),
    ],
    ['with another provider id', nodeJson('a', { spec: { providerID: 'azure:///elsewhere/virtualMachines/aks-a' } })],
  ])('leaves the Node %s', async (_, node) => {
    const { cluster, finalize } = world(goingClaim('a'), [node])
    const before = cluster.object('nodes', 'aks-a')
    await ended(finalize())
    expect(cluster.object('nodes', 'aks-a')).toEqual(before)
    expect(cluster.names('nodeclaims')).toEqual([])
  })

  test('keeps the finalizers of others, of the Node and of the claim', async () => {
    const claim = goingClaim('a', { metadata: { finalizers: ['example.com/mine', ours] } })
    const { cluster, finalize } = world(claim, [])
    await finalize()
    expect(finalizersOf(cluster, 'nodeclaims', 'a')).toEqual(['example.com/mine'])
  })

  test('runs twice and changes nothing the second time', async () => {
    const claim = goingClaim('a', { metadata: { finalizers: ['example.com/mine', ours] } })
    const { cluster, finalize } = world(claim, [])
    await finalize()
    const before = cluster.snapshot()
    await finalize()
    expect(cluster.snapshot()).toEqual(before)
  })
})

describe('a Node that another finalizer holds', () => {
  const holding = 'Node aks-a: Joiner has let it go, and metadata.finalizers still has example.com/backup'
  const messages = (
    reported: readonly { readonly reason: string; readonly about: string; readonly message: string }[],
  ) => reported.filter(({ reason }) => reason === 'NodeHeldByFinalizers')

  test('keeps the claim, and both say which finalizer, once, and how to remove it', async () => {
    const { cluster, finalize, reported } = world(goingClaim('a'), [goingNode([ours, 'example.com/backup'])])
    const startedAt = Date.now()
    await expect(ended(finalize())).rejects.toThrow(holding)
    expect(Date.now() - startedAt).toBeLessThan(7000)
    await expect(ended(finalize())).rejects.toThrow(holding)
    expect(finalizersOf(cluster, 'nodeclaims', 'a')).toEqual([ours])
    expect(finalizersOf(cluster, 'nodes', 'aks-a')).toEqual(['example.com/backup'])
    expect(messages(reported).map(({ about }) => about)).toEqual(['NodeClaim/a', 'Node/aks-a'])
    expect(messages(reported)[0]?.message).toContain('kubectl patch node aks-a')
    const said = cluster.object('nodeclaims', 'a')?.status.conditions.find(({ type }) => type === 'NodeDeleted')
    expect(said).toMatchObject({
      status: 'False',
      reason: 'HeldByFinalizers',
      message: expect.stringContaining(holding),
    })
  })

  test('lets its claim go after five minutes, also one that is deleted in the foreground, and keeps its finalizer', async () => {
    const { cluster, left, finalize, reported } = world(goingClaim('a'), [goingNode([ours, 'example.com/backup'])])
    await expect(ended(finalize())).rejects.toThrow(holding)
    await pass(4 * 60_000 + 40_000)
    await expect(ended(finalize())).rejects.toThrow(holding)
    expect(left().claims).toEqual(['a'])
    await pass(20_000)
    await ended(finalize())
    expect(left()).toEqual({ claims: [], nodes: ['aks-a'] })
    expect(finalizersOf(cluster, 'nodes', 'aks-a')).toEqual(['example.com/backup'])
    expect((cluster.object('nodes', 'aks-a')?.metadata as Json | undefined)?.['ownerReferences']).toEqual([
      { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'a', uid: 'uid-a', blockOwnerDeletion: false },
    ])
    expect(messages(reported).map(({ message }) => message.includes('ends without it'))).toEqual([
      false,
      false,
      true,
      true,
    ])
  })

  test('is no reason while the API server has it without any finalizer: the next attempt looks again', async () => {
    const { cluster, left, finalize } = world(goingClaim('a'), [goingNode([ours, 'example.com/backup'])])
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path.endsWith('/nodes/aks-a'))
        cluster.edit('nodes', 'aks-a', { metadata: { finalizers: [] } })
    })
    await expect(ended(finalize())).rejects.toThrow('the API server still has it')
    expect(left().claims).toEqual(['a'])
  })

  test('ends the wait as soon as that one goes', async () => {
    const { cluster, left, finalize } = world(goingClaim('a'), [goingNode([ours, 'example.com/backup'])])
    const work = finalize()
    await pass(2000)
    cluster.remove('nodes', 'aks-a')
    await ended(work)
    expect(left().claims).toEqual([])
  })

  test('is not waited for when another Node has its name by then', async () => {
    const { cluster, left, finalize } = world(goingClaim('a'), [goingNode([ours, 'example.com/backup'])])
    const work = finalize()
    await pass(1000)
    cluster.put('nodes', nodeJson('a', { metadata: { uid: 'newer' } }))
    await ended(work)
    expect(left()).toEqual({ claims: [], nodes: ['aks-a'] })
  })

  test('does not keep a second Node of the claim from going', async () => {
    const second = nodeJson('a', {
      metadata: { name: 'second', uid: 'uid-second', deletionTimestamp: at(0), finalizers: [ours] },
    })
    const { cluster, finalize } = world(goingClaim('a'), [goingNode([ours, 'example.com/backup']), second])
    await expect(ended(finalize())).rejects.toThrow('example.com/backup')
    expect(cluster.names('nodes')).toEqual(['aks-a'])
    expect(cluster.names('nodeclaims')).toEqual(['a'])
  })
})

describe('pods of a VM that is gone', () => {
  const pods = [podJson('web', 'a'), podJson('elsewhere', 'b'), daemonJson('logs', 'a'), mirrorJson('proxy', 'a')]

  test('are deleted at once, so that their controllers make others; daemons and mirrors are not', async () => {
    const { cluster, finalize, reported } = world(goingClaim('a'), [goingNode([ours])], pods)
    await ended(finalize(true))
    expect(cluster.names('pods')).toEqual(['elsewhere', 'logs', 'proxy'])
    expect(reported.filter(({ reason }) => reason === 'Disrupted').map(({ about }) => about)).toEqual(['Pod/web'])
  })

  test('stay when the VM was drained', async () => {
    const { cluster, finalize } = world(goingClaim('a'), [goingNode([ours])], pods)
    await ended(finalize())
    expect(cluster.names('pods')).toEqual(['elsewhere', 'logs', 'proxy', 'web'])
  })

  test('that cannot be deleted keep Node and claim for the next attempt', async () => {
    const { cluster, left, finalize } = world(goingClaim('a'), [goingNode([ours])], pods)
    cluster.intercept(({ verb, path }) => {
      if (verb === 'delete' && path.endsWith('/pods/web')) throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    await expect(ended(finalize(true))).rejects.toThrow('etcd is away')
    expect(left()).toEqual({ claims: ['a'], nodes: ['aks-a'] })
  })

  test.each([404, 409])('that are gone already (%i) hold nothing up', async (code) => {
    const { cluster, left, finalize } = world(goingClaim('a'), [goingNode([ours])], pods)
    cluster.intercept(({ verb, path }) => {
      if (verb === 'delete' && path.includes('/pods/')) throw new ApiError(code, 'Gone', 'gone')
    })
    await ended(finalize(true))
    expect(left()).toEqual({ claims: [], nodes: [] })
  })

  test('of the same name that were made since are not deleted', async () => {
    const { cluster, finalize } = world(goingClaim('a'), [goingNode([ours])], pods)
    cluster.intercept(({ verb, path }) => {
      if (verb === 'delete' && path.endsWith('/pods/web'))
        cluster.put('pods', podJson('web', 'b', { metadata: { uid: 'newer' } }))
    })
    await ended(finalize(true))
    expect(cluster.names('pods')).toContain('web')
  })
})

describe('a concurrent write', () => {
  test('to the claim loses nothing, and the finalizer still goes', async () => {
    const { cluster, finalize } = world(goingClaim('a', { metadata: { finalizers: [ours] } }), [])
    let isFirst = true
    cluster.intercept(({ verb, path }) => {
      if (verb !== 'patch' || !path.endsWith('/nodeclaims/a') || !isFirst) return
      isFirst = false
      cluster.edit('nodeclaims', 'a', { metadata: { finalizers: [ours, 'example.com/late'] } })
    })
    await ended(finalize())
    expect(finalizersOf(cluster, 'nodeclaims', 'a')).toEqual(['example.com/late'])
  })

  test('to the Node adds a finalizer that is kept', async () => {
    const { cluster, finalize } = world(goingClaim('a'), [nodeJson('a', { metadata: { finalizers: [ours] } })])
    let isFirst = true
    cluster.intercept(({ verb, path }) => {
      if (verb !== 'patch' || !path.endsWith('/nodes/aks-a') || !isFirst) return
      isFirst = false
      cluster.edit('nodes', 'aks-a', { metadata: { finalizers: [ours, 'example.com/late'] } })
    })
    await expect(ended(finalize())).rejects.toThrow('example.com/late')
    expect(finalizersOf(cluster, 'nodes', 'aks-a')).toEqual(['example.com/late'])
  })
})

test('what ended is counted once, with its pool and zone', async () => {
  const { finalize, registry } = world()
  await ended(finalize())
  await ended(finalize())
  expect(await metricLines(registry, 'karpenter_nodes_terminated_total{')).toEqual([
    'karpenter_nodes_terminated_total{nodepool="default",zone="westus2-1"} 1',
  ])
  expect(await metricLines(registry, 'karpenter_nodeclaims_terminated_total{')).toEqual([
    'karpenter_nodeclaims_terminated_total{nodepool="default",zone="westus2-1",capacity_type="on-demand"} 1',
  ])
})

test.each<[readonly string[], readonly string[] | undefined]>([
  [[ours], []],
  [
    ['x', ours, 'y'],
    ['x', 'y'],
  ],
  [['x'], undefined],
  [[], undefined],
])('of the finalizers %j those of others stay', (before, after) => {
  expect(withoutFinalizer(before)).toEqual(after && { metadata: { finalizers: after } })
})
