import type { ResourceSku } from '@azure/arm-compute'
import { describe, expect, it } from 'vitest'
import { hasGoldenCases, readGolden } from '../../test/golden-cases.ts'
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

describe.skipIf(!hasGoldenCases)('every known size name', () => {
  interface SizeCase {
    readonly name: string
    readonly parse: { readonly family: string; readonly series: string; readonly cpusConstrained: string | null } | null
    readonly skuVersionLabel: string
    readonly restricted: boolean
    readonly confidential: boolean
  }

  it('is read as the reference reads it', () => {
    const { cases } = readGolden('vectors/vmsizes.json') as { readonly cases: readonly SizeCase[] }
    const wrong = cases.flatMap(({ name, parse, skuVersionLabel, restricted, confidential }) => {
      const usable = parse !== null && parse.cpusConstrained === null && !restricted && !confidential
      const result = parseSku(sku(name), 'eastus')
      if (!usable) return result.kind === 'excluded' ? [] : [`${name}: expected to be excluded`]
      if (result.kind === 'excluded') return [`${name}: ${result.reason}`]
      const read = `${result.size.seriesFamily} ${result.size.series} ${result.size.version}`
      const expected = `${parse.family} ${parse.series} ${skuVersionLabel}`
      return read === expected ? [] : [`${name}: ${read} instead of ${expected}`]
    })
    expect(wrong).toEqual([])
  })
})

describe('a SKU', () => {
  it('gives zones in order, without restricted ones', () => {
    const restrictions = [{ type: 'Zone' as const, restrictionInfo: { zones: ['2'] } }]
    expect(parseSku(sku('Standard_D4s_v5', {}, { restrictions }), 'eastus')).toMatchObject({
      kind: 'size',
      size: { zones: ['1', '3'], vCpus: 4, memoryGib: 16, arch: 'amd64', hyperVGenerations: ['1', '2'] },
    })
  })

  it.each([
    ['another resource', sku('P10', {}, { resourceType: 'disks' })],
    ['one core', sku('Standard_D1_v2', { vCPUs: '1' })],
    ['little memory', sku('Standard_D2s_v5', { MemoryGB: '2' })],
    ['GPUs nobody drives', sku('Standard_NG32adms_V620_v1', { GPUs: '1' })],
    ['no architecture', sku('Standard_D4s_v5', { CpuArchitectureType: '' })],
    [
      'a region that is closed',
      sku('Standard_D4s_v5', {}, { restrictions: [{ type: 'Location', restrictionInfo: { locations: ['eastus'] } }] }),
    ],
  ])('is excluded for %s', (_why, excluded) => {
    expect(parseSku(excluded, 'eastus').kind).toBe('excluded')
  })

  it.each([
    ['the cache', { CachedDiskBytes: '53687091200', MaxResourceVolumeMB: '16384' }, { placement: 'CacheDisk', gb: 53 }],
    [
      'the temporary disk',
      { CachedDiskBytes: '0', MaxResourceVolumeMB: '76800' },
      { placement: 'ResourceDisk', gb: 80 },
    ],
    [
      'NVMe',
      { NvmeDiskSizeInMiB: '450560', SupportedEphemeralOSDiskPlacements: 'NvmeDisk', CachedDiskBytes: '1' },
      { placement: 'NvmeDisk', gb: 472 },
    ],
    ['nothing', { MaxResourceVolumeMB: '0' }, undefined],
  ])('can keep an ephemeral OS disk on %s', (_where, capabilities, expected) => {
    const result = parseSku(sku('Standard_D4s_v5', { EphemeralOSDiskSupported: 'True', ...capabilities }), 'eastus')
    expect(result.kind === 'size' && result.size.ephemeralOsDisk).toEqual(expected)
  })
})
