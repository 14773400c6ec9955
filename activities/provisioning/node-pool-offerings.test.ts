import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { InstanceType } from '../../core/instance-type.ts'
import { labels } from '../../core/requirements/labels.ts'
import { samplePool, sampleType } from '../../test/samples/sample-objects.ts'
import { observePoolOfferings } from './node-pool-offerings.ts'

const refused = (type: InstanceType): InstanceType => ({
  ...type,
  offerings: type.offerings.map((offering) => ({ ...offering, available: false })),
})

test('a pool has the offerings that it allows and Azure would launch, until all are refused', async () => {
  const spot = [{ key: labels.capacityType, operator: 'In', values: ['spot'] }] as const
  const all = samplePool('all')
  const onlySpot = samplePool('spot', { spec: { requirements: spot } })
  const registry = new Registry()
  let types: readonly InstanceType[] = [sampleType('d4', 4), refused(sampleType('d8', 8))]
  let pools = [all, onlySpot]
  observePoolOfferings(
    {
      nodePools: () => pools,
      instanceTypes: () => new Map(['all', 'spot', 'without a class'].map((name) => [name, types])),
    },
    registry,
  )
  const counts = async () => {
    const shown = await registry.getSingleMetric('joiner_nodepools_launchable_offerings')?.get()
    return shown?.values.map(({ labels: { nodepool }, value }) => [nodepool, value])
  }
  const [d4] = types
  const ofSpot = d4?.offerings.filter(({ requirements }) => requirements.get(labels.capacityType)?.values.has('spot'))
  expect(ofSpot?.length).toBeGreaterThan(0)
  expect(await counts()).toEqual([
    ['all', d4?.offerings.length],
    ['spot', ofSpot?.length],
  ])
  types = types.map(refused)
  expect(await counts()).toEqual([
    ['all', 0],
    ['spot', 0],
  ])
  pools = [all]
  expect(await counts()).toEqual([['all', 0]])
})
