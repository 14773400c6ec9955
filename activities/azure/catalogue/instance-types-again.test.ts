import { pino } from 'pino'
import { expect, it } from 'vitest'
import { goldenConfig, goldenNodeClass } from '../../../test/vectors/golden-cases.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { Catalogue } from './catalogue.ts'
import { InstanceTypeLists, instanceTypes, type Sale } from './instance-types.ts'
import { pricesOf } from './pricing.ts'
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

const config = goldenConfig('westus2', {
  nodeResourceGroup: 'MC_group',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})
const setting = {
  region: 'westus2',
  nodeClass: nodeClassSettings(goldenNodeClass({}), config),
  memoryOverheadPercent: 0.075,
  nodeResourceGroup: 'MC_group',
}
const priced = (price: number) => pricesOf([{ armSkuName: 'Standard_D4s_v6', retailPrice: price }])
const sale: Sale = {
  sizes: [size('Standard_D4s_v5'), size('Standard_D4s_v6')],
  prices: priced(1),
  isMarked: () => false,
  hasQuota: () => true,
}

it('rebuilds only the types of which offerings came or went, and the same as without memory', () => {
  const lists = new InstanceTypeLists(setting)
  const before = lists.list(sale)
  const marked: Sale = {
    ...sale,
    isMarked: ({ instanceType, zone, capacityType }) =>
      instanceType === 'Standard_D4s_v6' && zone === 'westus2-2' && capacityType === 'spot',
  }
  const after = lists.list(marked)
  expect(after).toEqual(instanceTypes({ ...setting, ...marked }))
  expect(after.map((type, index) => type === before[index])).toEqual([true, false])
  expect(lists.list(sale)).toEqual(before)
})

it('a refusal of what a node class does not use leaves it the list that planners know', () => {
  let [marks, marked] = [0, '']
  const unavailable = {
    get version() {
      return marks
    },
    isMarked: ({ instanceType }: { readonly instanceType: string }) => instanceType === marked,
  }
  const none = { signature: () => '', offeredTo: () => [], hasRoom: () => true }
  const deps = {
    azure: undefined,
    config,
    unavailable,
    quota: none,
    reservations: none,
    log: pino({ level: 'silent' }),
  }
  const catalogue = new Catalogue(deps as never)
  const sizes = new Map(['Standard_D4s_v5', 'Standard_D4s_v6'].map((name) => [name, size(name)]))
  Object.assign(catalogue, { sizes: { version: 1, answer: { value: sizes } } })
  const nodeClass = goldenNodeClass({})
  const typesAfter = (refused: string) => {
    marks += 1
    marked = refused
    return catalogue.instanceTypesFor(nodeClass)
  }
  const before = typesAfter('')
  expect(typesAfter('Standard_M8ms')).toBe(before)
  expect(typesAfter('Standard_D4s_v6').map((type, at) => type === before[at])).toEqual([true, false])
})

it('sees quota that is used up, and new prices', () => {
  const lists = new InstanceTypeLists(setting)
  const before = lists.list(sale)
  const without = { ...sale, hasQuota: () => false }
  expect(lists.list(without)).toEqual(instanceTypes({ ...setting, ...without }))
  const higher = { ...sale, prices: priced(2) }
  expect(lists.list(higher)).toEqual(instanceTypes({ ...setting, ...higher }))
  expect(lists.list(sale)).toEqual(before)
})

it('a size of a family that is not known to work costs as one without a price, unless that is allowed', () => {
  const prices = (allowsUntested: boolean) => {
    const [known] = sale.sizes
    if (known === undefined) throw new Error('no size')
    const strange = { ...known, name: 'Standard_D4s_v6', family: 'standardDXv99Family' }
    const types = instanceTypes({ ...setting, ...sale, sizes: [strange], allowsUntested })
    return [...new Set(types.flatMap(({ offerings }) => offerings.map(({ price }) => price)))]
  }
  expect(prices(false)).toEqual([999])
  expect(prices(true)).toContain(1)
})

it('limits the disks of pods by what the size takes, and not where that is unknown', () => {
  const sizes = [size('Standard_D4s_v5'), { ...size('Standard_D4s_v6'), dataDisks: 8 }]
  expect(instanceTypes({ ...setting, ...sale, sizes }).map(({ volumeAttachmentLimits: limits }) => limits)).toEqual([
    undefined,
    { 'disk.csi.azure.com': 8 },
  ])
})
