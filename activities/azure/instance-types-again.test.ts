import { expect, it } from 'vitest'
import { goldenConfig, goldenNodeClass } from '../../test/golden-cases.ts'
import { type InstanceTypeInput, instanceTypes } from './instance-types.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { Prices } from './pricing.ts'
import type { VmSize } from './sku.ts'

const size = (name: string): VmSize => ({
  name,
  family: 'standardDSv5Family',
  series: 'Dsv5',
  seriesFamily: 'D',
  version: '5',
  vCpus: 4,
  memoryGib: 16,
  arch: 'amd64',
  gpus: 0,
  hyperVGenerations: ['1', '2'],
  acceleratedNetworking: true,
  premiumStorage: true,
  encryptionAtHost: true,
  trustedLaunch: true,
  spotCapable: true,
  ultraSsdZones: new Set(['1']),
  ultraSsdRegional: false,
  zones: ['1', '2'],
})

function input(changes: Partial<InstanceTypeInput> = {}): InstanceTypeInput {
  const config = goldenConfig('westus2', {
    nodeResourceGroup: 'MC_group',
    networkPlugin: 'azure',
    networkPluginMode: 'overlay',
    vmMemoryOverheadPercent: 0.075,
  })
  return {
    sizes: [size('Standard_D4s_v5'), size('Standard_D4s_v6')],
    region: 'westus2',
    nodeClass: nodeClassSettings(goldenNodeClass({}), config),
    prices: new Prices(),
    isMarked: () => false,
    hasQuota: () => true,
    memoryOverheadPercent: 0.075,
    nodeResourceGroup: 'MC_group',
    ...changes,
  }
}

it('makes anew only the types of which offerings came or went, and the same as without memory', () => {
  const before = instanceTypes(input())
  const marked = input({
    isMarked: ({ instanceType, zone, capacityType }) =>
      instanceType === 'Standard_D4s_v6' && zone === 'westus2-2' && capacityType === 'spot',
  })
  const after = instanceTypes(marked, before)
  expect(after).toEqual(instanceTypes(marked))
  expect(after.map((type, index) => type === before[index])).toEqual([true, false])
  expect(instanceTypes(input(), after)).toEqual(before)
})

it('sees quota that is used up', () => {
  const without = input({ hasQuota: () => false })
  expect(instanceTypes(without, instanceTypes(input()))).toEqual(instanceTypes(without))
})
