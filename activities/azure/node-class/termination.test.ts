import { describe, expect, test } from 'vitest'
import { nodeClassHash, nodeClassHashVersion } from '../../../core/node-class/node-class-hash.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { at, claimJson, condition, nodeClassJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { catchUpServed, stampNodeClass, terminateNodeClass, waitingMessage } from './node-class-status.ts'

useFakeTime()

const ours = 'karpenter.azure.com/termination'
const [hashKey, versionKey] = ['karpenter.azure.com/aksnodeclass-hash', 'karpenter.azure.com/aksnodeclass-hash-version']

function world(metadata: Json, claims: readonly Json[] = []) {
  const cluster = new FakeCluster()
  cluster.put('aksnodeclasses', nodeClassJson('default', { metadata }))
  for (const claim of claims) cluster.put('nodeclaims', claim)
  const known = azureDeps(cluster)
  const seen = () => known.deps.cache.nodeClasses.get('default') as Parameters<typeof terminateNodeClass>[1]
  return {
    cluster,
    ...known,
    terminate: () => ended(terminateNodeClass(known.deps, seen())),
    stamp: () => ended(stampNodeClass(known.deps, seen())),
    nodeClass: () => cluster.object('aksnodeclasses', 'default'),
    annotations: (name: string) => cluster.object('nodeclaims', name)?.metadata.annotations,
  }
}

const leaving = (...finalizers: readonly string[]) => ({ deletionTimestamp: at(0), finalizers })
const ofOther = { spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'other' } } }

describe('a node class that is being deleted', () => {
  test.each<[string, readonly Json[], boolean]>([
    ['without claims goes', [], true],
    ['with claims of other classes goes', [claimJson('a', ofOther)], true],
    ['with a claim stays', [claimJson('a')], false],
    ['with a claim that is being deleted stays', [claimJson('a', { metadata: { deletionTimestamp: at(0) } })], false],
  ])('%s', async (_, claims, goes) => {
    const { terminate, nodeClass, reported } = world(leaving(ours), claims)
    await terminate()
    expect(nodeClass() === undefined).toBe(goes)
    expect(reported.map(({ reason }) => reason)).toEqual(goes ? [] : ['WaitingOnNodeClaimTermination'])
  })

  test('loses our finalizer alone', async () => {
    const { terminate, nodeClass } = world(leaving(ours, 'example.com/x'))
    await terminate()
    expect(nodeClass()?.metadata.finalizers).toEqual(['example.com/x'])
  })

  test('that is not being deleted by then keeps its finalizer', async () => {
    const { terminate, cluster, nodeClass } = world(leaving(ours))
    cluster.lag()
    cluster.put('aksnodeclasses', nodeClassJson('default', { metadata: { finalizers: [ours] } }))
    await terminate()
    expect(nodeClass()?.metadata.finalizers).toEqual([ours])
  })
})

test.each([
  [404, 'a kind that is served no more is what the watch told of it'],
  [403, 'a kind that may not be read is not'],
])('after a %i %s', async (code) => {
  const { cluster, deps } = world({})
  cluster.put('nodepools', poolJson('new'))
  cluster.intercept(({ verb, path }) => {
    if (verb === 'list' && path.endsWith('/nodeclaims')) throw new ApiError(code, 'Refused', 'refused')
  })
  const cache = new ClusterCache(cluster.client, deps.log)
  const caughtUp = catchUpServed({ ...deps, cache }, ['NodeClaim', 'NodePool'])
  await (code === 404 ? caughtUp : expect(caughtUp).rejects.toThrow('refused'))
  expect([...cache.nodePools.values()].map(({ metadata }) => metadata.name)).toEqual(['new'])
})

test.each([
  [['b', 'a'], 'a, b'],
  [['a', 'b', 'c', 'd', 'e'], 'a, b, c, d, e'],
  [['g', 'f', 'a', 'b', 'c', 'd', 'e'], 'a, b, c, d, e and 2 other(s)'],
])('waiting for %j names %s', (claims, names) => {
  expect(waitingMessage(claims)).toBe(`Waiting on NodeClaim termination for ${names}`)
})

describe('the stamp of a node class', () => {
  const current = nodeClassHash({})

  test('is its finalizer, its hash and the version of the hash', async () => {
    const { stamp, nodeClass } = world({ finalizers: ['example.com/x'] })
    await stamp()
    expect(nodeClass()?.metadata).toMatchObject({
      finalizers: ['example.com/x', ours],
      annotations: { [hashKey]: current, [versionKey]: nodeClassHashVersion },
    })
  })

  test('is not written twice', async () => {
    const { cluster, stamp } = world({})
    await stamp()
    const before = cluster.snapshot()
    await stamp()
    expect(cluster.snapshot()).toEqual(before)
  })

  test('gives no finalizer to one that is being deleted', async () => {
    const { stamp, nodeClass } = world(leaving('example.com/x'))
    await stamp()
    expect(nodeClass()?.metadata.finalizers).toEqual(['example.com/x'])
  })

  test('of another version of the hash stamps its claims first, so that none seems to have drifted', async () => {
    const old = { annotations: { [hashKey]: 'old', [versionKey]: 'v1' } }
    const { cluster, stamp, annotations } = world({ ...old }, [
      claimJson('plain', { metadata: old }),
      claimJson('drifted', { metadata: old, status: { conditions: [condition('Drifted')] } }),
      claimJson('other', { ...ofOther, metadata: old }),
    ])
    const order: string[] = []
    cluster.intercept(({ verb, path }) => {
      if (verb === 'patch') order.push(path.split('/').at(-1) as string)
    })
    await stamp()
    expect(annotations('plain')).toMatchObject({ [hashKey]: current, [versionKey]: nodeClassHashVersion })
    expect(annotations('drifted')).toMatchObject({ [hashKey]: 'old', [versionKey]: nodeClassHashVersion })
    expect(annotations('other')).toMatchObject({ [versionKey]: 'v1' })
    expect(order.at(-1)).toBe('default')
  })

  test('leaves the hash of claims when only the spec changed: that is drift', async () => {
    const stamped = { annotations: { [hashKey]: 'before', [versionKey]: nodeClassHashVersion } }
    const { stamp, annotations } = world(stamped, [claimJson('a', { metadata: stamped })])
    await stamp()
    expect(annotations('a')).toEqual(stamped.annotations)
  })
})
