import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { InstanceType } from '../../core/instance-type.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { sampleClaim, sampleType } from '../../test/samples/sample-objects.ts'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { instanceTypes } from '../node-overlays/pool-types.ts'
import { observeNodePoolCost } from './node-pool-cost.ts'

// Each name says which test of upstream's suite state, ClusterCost, it answers to. A type of 4 cores costs 0.2 on demand and 0.06 as spot.
const claim = (name: string, capacityType = 'spot', nodePool = 'one') =>
  sampleClaim(name, {
    metadata: {
      labels: {
        'karpenter.sh/nodepool': nodePool,
        'node.kubernetes.io/instance-type': 'd4',
        'karpenter.sh/capacity-type': capacityType,
        'topology.kubernetes.io/zone': 'zone-1',
      },
    },
  })
const spot = claim('spot')
const onDemand = claim('on-demand', 'on-demand')
const elsewhere = claim('elsewhere', 'on-demand', 'two')

/** Costs by NodePool, in cents an hour, after each of these states of the cluster. */
async function costs(
  states: readonly (readonly NodeClaim[])[],
  types: readonly InstanceType[] = [sampleType('d4', 4)],
) {
  const registry = new Registry()
  let claims: readonly NodeClaim[] = []
  observeNodePoolCost(
    {
      nodeClaims: () => claims,
      instanceTypes: () => new Map(['one', 'two'].map((pool) => [pool, types])),
      isReported: () => true,
    },
    registry,
  )
  const seen: Record<string, number>[] = []
  for (const state of states) {
    claims = state
    const { values = [] } = (await registry.getSingleMetric('karpenter_nodepools_cost_total')?.get()) ?? {}
    seen.push(
      Object.fromEntries(values.map(({ labels, value }) => [String(labels['nodepool']), Math.round(value * 100)])),
    )
  }
  return seen
}

test.each<[string, readonly (readonly NodeClaim[])[], readonly Record<string, number>[]]>([
  ['a spot node in an empty NodePool', [[], [spot]], [{}, { one: 6 }]],
  ['an on-demand node in an empty NodePool', [[], [onDemand]], [{}, { one: 20 }]],
  ['a second node of the same offering', [[spot], [spot, claim('other')]], [{ one: 6 }, { one: 12 }]],
  ['a node of another offering', [[spot], [spot, onDemand]], [{ one: 6 }, { one: 26 }]],
  ['a node of another NodePool', [[spot], [spot, elsewhere]], [{ one: 6 }, { one: 6, two: 20 }]],
  ['one of two equal nodes goes', [[spot, claim('other')], [spot]], [{ one: 12 }, { one: 6 }]],
  ['one of two different nodes goes', [[spot, onDemand], [onDemand]], [{ one: 26 }, { one: 20 }]],
  ['the only node of one NodePool goes', [[spot, elsewhere], [elsewhere]], [{ one: 6, two: 20 }, { two: 20 }]],
  ['the last node goes', [[spot], []], [{ one: 6 }, {}]],
])('%s', async (_, states, expected) => {
  expect(await costs(states)).toEqual(expected)
})

test('a price that the provider changes counts for nodes that are there', async () => {
  const [type] = [sampleType('d4', 4)]
  const dearer = { ...type, offerings: type.offerings.map((offering) => ({ ...offering, price: offering.price * 2 })) }
  expect([await costs([[spot, elsewhere]]), await costs([[spot, elsewhere]], [dearer])]).toEqual([
    [{ one: 6, two: 20 }],
    [{ one: 12, two: 40 }],
  ])
})

test('should recalculate cluster cost appropriately when nodeoverlays change', async () => {
  const cache = new ClusterCache(undefined as never, pino({ level: 'silent' }))
  const catalogue = { instanceTypesFor: () => [sampleType('d4', 4)] } as never
  const put = (kind: 'NodePool' | 'AKSNodeClass' | 'NodeOverlay', name: string, spec: object, version = '1') =>
    cache.upsert(kind, {
      metadata: {
        name,
        uid: name,
        resourceVersion: version,
        generation: Number(version),
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      spec,
    })
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
  put('AKSNodeClass', 'default', {})
  put('NodePool', 'one', { template: { spec: { nodeClassRef, requirements: [] } } })
  const cost = async () => {
    const registry = new Registry()
    const types = () => instanceTypes({ cache, catalogue })
    observeNodePoolCost({ nodeClaims: () => [spot], instanceTypes: types, isReported: () => true }, registry)
    const { values = [] } = (await registry.getSingleMetric('karpenter_nodepools_cost_total')?.get()) ?? {}
    return values.map(({ value }) => Math.round(value * 100))
  }
  expect(await cost()).toEqual([6])
  const requirements = [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }]
  put('NodeOverlay', 'half', { requirements, priceAdjustment: '-50%' })
  expect(await cost()).toEqual([3])
  put('NodeOverlay', 'half', { requirements, price: '0.5' }, '2')
  expect(await cost()).toEqual([50])
})
