import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { sampleClaim, sampleType } from '../../test/samples/sample-objects.ts'
import { observeNodePoolCost } from './node-pool-cost.ts'

const claim = (nodePool: string, instanceType: string, capacityType: string) =>
  sampleClaim(`${nodePool}-${instanceType}`, {
    metadata: {
      labels: {
        'karpenter.sh/nodepool': nodePool,
        'node.kubernetes.io/instance-type': instanceType,
        'karpenter.sh/capacity-type': capacityType,
        'topology.kubernetes.io/zone': 'zone-2',
      },
    },
  })

it('a pool costs what its nodes cost, by size, zone and capacity type', async () => {
  const registry = new Registry()
  let reported = true
  let claims = [
    claim('web', 'd4', 'on-demand'),
    claim('web', 'd4', 'spot'),
    claim('web', 'gone', 'spot'),
    claim('new', 'd8', 'spot'),
  ]
  observeNodePoolCost(
    {
      nodeClaims: () => claims,
      instanceTypes: () => new Map([['web', [sampleType('d4', 4)]]]),
      isReported: () => reported,
    },
    registry,
  )
  const costs = async () => (await registry.getSingleMetric('karpenter_nodepools_cost_total')?.get())?.values
  expect(await costs()).toEqual([
    { labels: { nodepool: 'web' }, value: expect.closeTo(0.26) as number },
    { labels: { nodepool: 'new' }, value: 0 },
  ])
  claims = []
  expect(await costs()).toEqual([])
  reported = false
  expect(await costs()).toEqual([])
})
