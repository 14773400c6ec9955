import { expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { at, condition, nodeClassJson, poolJson } from '../../../test/fakes/objects.ts'
import type { Json } from '../client/answers.ts'
import { refreshNodePools } from './node-pool-status.ts'

const withReady = (status: string) =>
  nodeClassJson('default', { status: { conditions: [condition('Ready', status, 0, 'Why')] } })

// Upstream: nodepool/readiness/suite_test.go.
test.each<[string, Json | undefined, string, string]>([
  ['is ready when the class is', withReady('True'), 'True', 'NodeClassReady'],
  ['is not ready when the class is not', withReady('False'), 'False', 'Why'],
  [
    'is not ready while the readiness of the class is unknown',
    withReady('Unknown'),
    'False',
    'NodeClassReadinessUnknown',
  ],
  [
    'is not ready if the class does not have status conditions',
    nodeClassJson('default', { status: { conditions: [] } }),
    'False',
    'NodeClassReadinessUnknown',
  ],
  [
    'is not ready when the class is being deleted',
    nodeClassJson('default', { metadata: { deletionTimestamp: at(0), finalizers: ['x'] } }),
    'False',
    'NodeClassTerminating',
  ],
  ['is not ready without its class', undefined, 'False', 'NodeClassNotFound'],
])('a NodePool %s', async (_, nodeClass, status, reason) => {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson('default', { status: { conditions: [] } }))
  if (nodeClass !== undefined) cluster.put('aksnodeclasses', nodeClass)
  const { deps } = kubernetesDeps(cluster)
  await deps.cache.catchUp(deps.cache.unsynced)
  await refreshNodePools({ ...deps, staticCapacity: false })
  const conditions = (cluster.object('nodepools', 'default')?.status.conditions ?? []) as readonly {
    readonly type: string
  }[]
  expect(conditions.find(({ type }) => type === 'NodeClassReady')).toMatchObject({ status, reason })
})
