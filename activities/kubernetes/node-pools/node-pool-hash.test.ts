import { describe, expect, test } from 'vitest'
import { nodePoolHash } from '../../../core/node-pool/node-pool-hash.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { claimJson, condition, poolJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { refreshNodePools } from './node-pool-status.ts'

// Each name says which test of upstream's suite nodepool/hash it answers to.
useFakeTime()

const hashKey = 'karpenter.sh/nodepool-hash'
const versionKey = 'karpenter.sh/nodepool-hash-version'
const version = 'v3'
const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
const template: Json = {
  metadata: { annotations: { a: 'b' }, labels: { keyLabel: 'valueLabel' } },
  spec: {
    nodeClassRef,
    requirements: [],
    taints: [{ key: 'key', effect: 'NoExecute' }],
    startupTaints: [{ key: 'key2', effect: 'NoExecute' }],
    expireAfter: '5m',
    terminationGracePeriod: '5m',
  },
}
const disruption = { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] }

async function world(annotations: Json = {}, spec: Json = {}) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson('default', { metadata: { annotations }, spec: { template, disruption, ...spec } }))
  const { deps } = kubernetesDeps(cluster)
  return {
    cluster,
    refresh: () => refreshNodePools({ ...deps, staticCapacity: false }),
    stamps: (resource: 'nodepools' | 'nodeclaims' = 'nodepools', name = 'default') => {
      const own = cluster.object(resource, name)?.metadata.annotations ?? {}
      return [own[hashKey], own[versionKey]]
    },
    hash: () => nodePoolHash(cluster.object('nodepools', 'default')?.spec['template'] as never),
    claim: (name: string, own: Json, conditions: readonly Json[] = []) =>
      cluster.put('nodeclaims', claimJson(name, { metadata: { annotations: own }, status: { conditions } })),
  }
}

describe('upstream nodepool/hash', () => {
  test('a NodePool of another provider gets no hash', async () => {
    const theirs = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }
    const { cluster, refresh, stamps } = await world()
    cluster.edit('nodepools', 'default', { spec: { template: { spec: { nodeClassRef: theirs } } } })
    await refresh()
    expect(stamps()).toEqual([undefined, undefined])
  })

  test('the hash follows a static field', async () => {
    const { cluster, refresh, stamps, hash } = await world()
    await refresh()
    const first = stamps()
    expect(first).toEqual([hash(), version])
    cluster.edit('nodepools', 'default', { spec: { template: { metadata: { labels: { keyLabelTest: 'x' } } } } })
    await refresh()
    expect(stamps()).toEqual([hash(), version])
    expect(stamps()).not.toEqual(first)
  })

  test('the hash does not follow a field that only says how to behave', async () => {
    const { cluster, refresh, stamps } = await world()
    await refresh()
    const first = stamps()
    cluster.edit('nodepools', 'default', {
      spec: {
        limits: { cpu: '16' },
        weight: 80,
        disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
        template: {
          spec: { requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['westus2-1'] }] },
        },
      },
    })
    await refresh()
    expect(stamps()).toEqual(first)
  })

  test('a hash of another version is replaced, on the NodePool and on its NodeClaims', async () => {
    const old = { [hashKey]: '123456', [versionKey]: 'test' }
    const { refresh, stamps, hash, claim } = await world(old)
    claim('one', old)
    claim('two', old)
    await refresh()
    for (const [resource, name] of [
      ['nodepools', 'default'],
      ['nodeclaims', 'one'],
      ['nodeclaims', 'two'],
    ] as const)
      expect(stamps(resource, name)).toEqual([hash(), version])
  })

  test('a NodeClaim whose hash is of the present version keeps it', async () => {
    const { refresh, stamps, claim } = await world({ [hashKey]: '123456', [versionKey]: 'test' })
    claim('one', { [hashKey]: '1234564654', [versionKey]: version })
    await refresh()
    expect(stamps('nodeclaims', 'one')).toEqual(['1234564654', version])
  })

  test('a NodeClaim that has drifted keeps its hash, with the new version', async () => {
    const { refresh, stamps, claim } = await world({ [hashKey]: '123456', [versionKey]: 'test' })
    claim('one', { [hashKey]: '123456', [versionKey]: 'test' }, [condition('Drifted')])
    await refresh()
    expect(stamps('nodeclaims', 'one')).toEqual(['123456', version])
  })

  test('NodeClaims of another NodePool keep theirs', async () => {
    const old = { [hashKey]: '123456', [versionKey]: 'test' }
    const { cluster, refresh, stamps, claim } = await world(old)
    claim('one', old)
    cluster.edit('nodeclaims', 'one', { metadata: { labels: { 'karpenter.sh/nodepool': 'other' } } })
    await refresh()
    expect(stamps('nodeclaims', 'one')).toEqual(['123456', 'test'])
  })
})
