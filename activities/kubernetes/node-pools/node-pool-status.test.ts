import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { at, condition, nodeClassJson, poolJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { refreshNodePools } from './node-pool-status.ts'

// Names say which tests of upstream's suites nodepool/readiness, registrationhealth and validation they answer to.
useFakeTime()

const theirs = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }
const health = 'NodeRegistrationHealthy'

async function refreshed(
  nodeClass: Json | undefined,
  pool: Json = poolJson('default', { status: { conditions: [] } }),
) {
  const cluster = new FakeCluster()
  if (nodeClass !== undefined) cluster.put('aksnodeclasses', nodeClass)
  cluster.put('nodepools', pool)
  await refreshNodePools({ ...kubernetesDeps(cluster).deps, staticCapacity: false })
  const { status } = cluster.object('nodepools', 'default') ?? {}
  const of = (type: string) => status?.conditions.find((one) => one.type === type)
  return { of, seen: status?.['nodeClassObservedGeneration'] }
}

describe('upstream nodepool/readiness', () => {
  test('a NodePool of another provider gets no condition', async () => {
    const pool = poolJson('default', {
      spec: { template: { spec: { nodeClassRef: theirs } } },
      status: { conditions: [] },
    })
    expect((await refreshed(nodeClassJson(), pool)).of('Ready')).toBeUndefined()
  })

  test.each<[string, Json | undefined, string, string]>([
    ['is missing', undefined, 'False', 'NodeClassNotFound'],
    ['is ready', nodeClassJson(), 'True', 'NodeClassReady'],
    [
      'is not ready',
      nodeClassJson('default', { status: { conditions: [condition('Ready', 'False', 0, 'ImagesUnready')] } }),
      'False',
      'ImagesUnready',
    ],
    [
      'is being deleted',
      nodeClassJson('default', { metadata: { deletionTimestamp: at(0), finalizers: ['x'] } }),
      'False',
      'NodeClassTerminating',
    ],
  ])('a NodePool whose node class %s says so', async (_, nodeClass, status, reason) => {
    const { of } = await refreshed(nodeClass)
    expect(of('NodeClassReady')).toMatchObject({ status, reason })
    expect(of('Ready')?.status).toBe(status)
  })

  test('a NodePool whose node class has no conditions is not ready', async () => {
    const { of } = await refreshed(nodeClassJson('default', { status: { conditions: [] } }))
    expect(of('Ready')?.status).not.toBe('True')
    expect(of('NodeClassReady')?.reason).toBe('NodeClassReadinessUnknown')
  })
})

describe('upstream nodepool/validation', () => {
  test.each<[string, readonly Json[], string]>([
    ['allows', [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }], 'True'],
    ['refuses', [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['cheap'] }], 'False'],
  ])('what Kubernetes stored and Joiner %s is said by a condition', async (_, requirements, status) => {
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
    const pool = poolJson('default', {
      spec: { template: { spec: { nodeClassRef, requirements } } },
      status: { conditions: [] },
    })
    const { of } = await refreshed(nodeClassJson(), pool)
    expect(of('ValidationSucceeded')?.status).toBe(status)
    expect(of('Ready')?.status).toBe(status)
  })
})

describe('upstream nodepool/registrationhealth', () => {
  const seenAt = (nodeClassGeneration: number, generation: number, status: string) =>
    poolJson('default', {
      metadata: { generation: 1 },
      status: {
        nodeClassObservedGeneration: nodeClassGeneration,
        conditions: [{ ...condition(health, status), observedGeneration: generation }],
      },
    })
  const nodeClass = nodeClassJson()

  test.each<[string, Json | undefined, Json, string | undefined, number | undefined]>([
    [
      'of another provider',
      nodeClass,
      poolJson('default', { spec: { template: { spec: { nodeClassRef: theirs } } } }),
      undefined,
      undefined,
    ],
    ['without its node class', undefined, poolJson(), undefined, undefined],
    [
      'whose node class was edited',
      nodeClassJson('default', { metadata: { generation: 2 } }),
      seenAt(1, 1, 'False'),
      'Unknown',
      2,
    ],
    ['that was edited', nodeClass, seenAt(1, 0, 'False'), 'Unknown', 1],
    ['that is healthy', nodeClass, seenAt(1, 1, 'True'), 'True', 1],
    ['that is unhealthy', nodeClass, seenAt(1, 1, 'False'), 'False', 1],
  ])('a NodePool %s', async (_, own, pool, status, generation) => {
    const { of, seen } = await refreshed(own, pool)
    expect(of(health)?.status).toBe(status)
    expect(seen).toBe(generation)
  })
})
