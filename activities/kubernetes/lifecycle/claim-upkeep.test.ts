import { describe, expect, test, vi } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { claimJson, condition, goingClaim, nodeJson } from '../../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { keepUpClaims } from './claim-upkeep.ts'

// Names say which tests of upstream's suites nodeclaim/hydration, node/hydration and nodeclaim/consistency they answer to.
useFakeTime()

const classLabel = 'karpenter.azure.com/aksnodeclass'
const theirs = { spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } } }
const capacity = { cpu: '16', memory: '128Gi', pods: '110' }
const promised = { spec: { resources: { requests: { cpu: '8', memory: '64Gi' } } }, status: { capacity } }
/** What is checked is remembered by UID in this process: each test has its own. */
let count = 0

function world(claim: Json = {}, node: Json = {}) {
  count += 1
  const uid = `upkeep-${count}`
  const cluster = new FakeCluster()
  const of = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'a', uid }
  cluster.put('nodeclaims', claimJson('a', { ...claim, metadata: { uid } }))
  cluster.put('nodes', nodeJson('a', { ...node, metadata: { ownerReferences: [of], ...(node['metadata'] as Json) } }))
  const { deps, reported } = kubernetesDeps(cluster)
  return {
    cluster,
    reported,
    keepUp: () => keepUpClaims(deps),
    labelOf: (resource: 'nodes' | 'nodeclaims', name: string) =>
      cluster.object(resource, name)?.metadata.labels[classLabel],
    found: () =>
      cluster.object('nodeclaims', 'a')?.status.conditions.find(({ type }) => type === 'ConsistentStateFound')?.status,
  }
}

describe('upstream hydration', () => {
  test('the label of the node class that is missing is set on NodeClaim and Node', async () => {
    const { keepUp, labelOf } = world()
    await keepUp()
    expect([labelOf('nodeclaims', 'a'), labelOf('nodes', 'aks-a')]).toEqual(['default', 'default'])
  })

  test('a NodeClaim that another provider manages is left alone, and so is its Node', async () => {
    const { cluster, keepUp } = world(theirs)
    const before = cluster.snapshot()
    await keepUp()
    expect(cluster.snapshot()).toEqual(before)
  })

  test('a Node that has not been registered is left alone', async () => {
    const { keepUp, labelOf } = world({ status: { conditions: [condition('Launched')] } })
    await keepUp()
    expect(labelOf('nodes', 'aks-a')).toBeUndefined()
  })

  test('a label that is there already stays, and nothing is written a second time', async () => {
    const { cluster, keepUp, labelOf } = world()
    cluster.edit('nodes', 'aks-a', { metadata: { labels: { [classLabel]: 'earlier' } } })
    await keepUp()
    expect(labelOf('nodes', 'aks-a')).toBe('earlier')
    const before = cluster.snapshot()
    await keepUp()
    expect(cluster.snapshot()).toEqual(before)
  })
})

describe('upstream consistency', () => {
  const nodeWith = (memory: string) => ({ status: { capacity: { ...capacity, memory } } })

  test('a Node as it was promised: the condition is True', async () => {
    const { keepUp, found, reported } = world(promised, nodeWith('128Gi'))
    await keepUp()
    expect(found()).toBe('True')
    expect(reported).toEqual([])
  })

  test('a Node with much less than was promised: an event, and the condition is False', async () => {
    const { keepUp, found, reported } = world(promised, nodeWith('64Gi'))
    await keepUp()
    expect(found()).toBe('False')
    expect(reported.map(({ reason, about, message }) => [reason, about, message])).toEqual([
      [
        'FailedConsistencyCheck',
        'NodeClaim/a',
        'expected 128Gi of resource memory, but found 64Gi (50.0% of expected)',
      ],
    ])
  })

  test.each<[string, Json]>([
    ['that another provider manages', { ...promised, spec: { ...promised.spec, ...theirs.spec } }],
    ['whose Node is not initialized', { ...promised, status: { capacity, conditions: [condition('Registered')] } }],
  ])('a NodeClaim %s is not checked', async (_, claim) => {
    const { keepUp, found } = world(claim, nodeWith('64Gi'))
    await keepUp()
    expect(found()).toBeUndefined()
  })

  test('it is checked again after ten minutes, and not before', async () => {
    const { cluster, keepUp, found } = world(promised, nodeWith('128Gi'))
    await keepUp()
    cluster.edit('nodes', 'aks-a', nodeWith('64Gi'))
    await pass(599_000)
    await keepUp()
    expect(found()).toBe('True')
    await pass(1000)
    await keepUp()
    expect(found()).toBe('False')
  })

  test('it is checked again after the clock was set back', async () => {
    const { cluster, keepUp, found } = world(promised, nodeWith('128Gi'))
    const rightMs = Date.now()
    vi.setSystemTime(rightMs + 31 * 86_400_000)
    await keepUp()
    cluster.edit('nodes', 'aks-a', nodeWith('64Gi'))
    vi.setSystemTime(rightMs)
    await keepUp()
    expect(found()).toBe('False')
  })

  test('a NodeClaim that is being deleted is left alone', async () => {
    const cluster = new FakeCluster()
    cluster.put('nodeclaims', goingClaim('a', promised))
    cluster.put('nodes', nodeJson('a', nodeWith('1Gi')))
    const before = cluster.snapshot()
    await keepUpClaims(kubernetesDeps(cluster).deps)
    expect(cluster.snapshot()).toEqual(before)
  })
})
