import type { ResourceSku } from '@azure/arm-compute'
import { describe, expect, it } from 'vitest'
import { parseSku } from './sku.ts'

const facts = { vCPUs: '4', MemoryGB: '16', CpuArchitectureType: 'x64', HyperVGenerations: 'V1,V2' }

function sku(name: string, capabilities: Readonly<Record<string, string>> = {}, more: ResourceSku = {}): ResourceSku {
  return {
    name,
    resourceType: 'virtualMachines',
    family: 'standardDSv5Family',
    locationInfo: [{ location: 'EastUS', zones: ['3', '1', '2'] }],
    capabilities: Object.entries({ ...facts, ...capabilities }).map(([key, value]) => ({ name: key, value })),
    ...more,
  }
}

describe('a SKU', () => {
  it('gives zones in order, without restricted ones', () => {
    const restrictions = [{ type: 'Zone' as const, restrictionInfo: { zones: ['2'] } }]
    expect(parseSku(sku('Standard_D4s_v5', {}, { restrictions }), 'eastus')).toMatchObject({
      kind: 'size',
      size: { zones: ['1', '3'], vCpus: 4, memoryGib: 16, arch: 'amd64', hyperVGenerations: ['1', '2'] },
    })
  })

  const closed: ResourceSku['restrictions'] = [
    { type: 'Location', reasonCode: 'NotAvailableForSubscription', restrictionInfo: { locations: ['eastus'] } },
  ]

  it.each([
    ['not a virtual machine', sku('P10', {}, { resourceType: 'disks' })],
    ['not fit for an AKS node', sku('Standard_E64i_v3')],
    ['size name not understood', sku('Standard_D4s_v10')],
    ['fewer than 2 vCPUs', sku('Standard_D1_v2', { vCPUs: '1' })],
    ['less than 3.5 GiB of memory', sku('Standard_D2s_v5', { MemoryGB: '2' })],
    ['constrained cores', sku('Standard_DS14-8_v2')],
    ['confidential size', sku('Standard_DC4as_v5')],
    ['GPU size without a driver on AKS images', sku('Standard_NG32adms_V620_v1', { GPUs: '1' })],
    ['CpuArchitectureType is missing', sku('Standard_D4s_v5', { CpuArchitectureType: '' })],
    [
      'not offered to this subscription in the region (NotAvailableForSubscription)',
      sku('Standard_D4s_v5', {}, { restrictions: closed }),
    ],
  ])('is excluded: %s', (reason, excluded) => {
    expect(parseSku(excluded, 'eastus')).toEqual({ kind: 'excluded', reason })
  })

  it('stays in where another region is closed', () => {
    expect(parseSku(sku('Standard_D4s_v5', {}, { restrictions: closed }), 'westus').kind).toBe('size')
  })

  it.each(['name', 'Name'])('has ultra disks in the zones that its details list as "%s"', (spelling) => {
    const details = { [spelling]: ['3', '1'], capabilities: [{ name: 'UltraSSDAvailable', value: 'True' }] }
    const locationInfo = [{ location: 'eastus', zones: ['1', '2', '3'], zoneDetails: [details] }]
    const result = parseSku(sku('Standard_D4s_v5', {}, { locationInfo }), 'eastus')
    expect(result.kind === 'size' && [...result.size.ultraSsdZones].sort()).toEqual(['1', '3'])
  })

  it.each([
    ['as many data disks as it says', '16', 16],
    ['none', '0', 0],
    ['an unknown number where it says nothing', undefined, undefined],
    ['an unknown number where it says no number', 'many', undefined],
    ['an unknown number where it says less than none', '-1', undefined],
  ])('takes %s', (_words, count, expected) => {
    const result = parseSku(sku('Standard_D4s_v5', count === undefined ? {} : { MaxDataDiskCount: count }), 'eastus')
    expect(result.kind === 'size' && result.size.dataDisks).toBe(expected)
  })
})
