import { describe, expect, it } from 'vitest'
import { goldenConfig, goldenNodeClass, goldenSkus } from '../../../test/vectors/golden-cases.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { gib, type LocalDisk, type LocalDisks, localDisksOf, osDiskPlacement } from './os-disk.ts'
import { parseSku } from './sku.ts'

type Capabilities = Readonly<Record<string, string>>

const disksOf = (capabilities: Capabilities) =>
  localDisksOf((name) => ({ EphemeralOSDiskSupported: 'True', ...capabilities })[name])

const config = goldenConfig('eastus', {
  nodeResourceGroup: 'MC_group',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})

interface Wanted {
  readonly osDiskSizeGB?: number
  readonly osDiskType?: 'Managed'
  readonly security?: object
}

const settingsOf = (spec: Wanted) => nodeClassSettings(goldenNodeClass({ ...spec }), config)
const placementOf = (disks: LocalDisks, spec: Wanted) => osDiskPlacement(disks, settingsOf(spec)) ?? 'Managed'
const vtpm = { security: { trustedLaunch: { vtpm: true } } }
const secureBoot = { security: { trustedLaunch: { secureBoot: true } } }

describe('a size', () => {
  const cache = { placement: 'CacheDisk', size: gib(50) }
  const temporary = { placement: 'ResourceDisk', size: gib(75) }
  const both = { CachedDiskBytes: '53687091200', MaxResourceVolumeMB: '76800' }
  const nvme = { NvmeDiskSizeInMiB: '450560' }
  const ofNvme = { placement: 'NvmeDisk', size: gib(440) }
  const placed = (SupportedEphemeralOSDiskPlacements: string) => ({ SupportedEphemeralOSDiskPlacements })

  it.each<[string, Capabilities, readonly object[] | undefined, number | undefined]>([
    ['the cache', { ...both, MaxResourceVolumeMB: '0' }, [cache], 53],
    ['the temporary disk', { ...both, CachedDiskBytes: '0' }, [temporary], 80],
    ['both, the cache first', both, [cache, temporary], 53],
    [
      'both, in whatever order they are named',
      { ...both, ...placed('ResourceDisk,CacheDisk') },
      [cache, temporary],
      53,
    ],
    ['what it names, in any case and with blanks', { ...both, ...placed(' resourcedisk ') }, [temporary], 53],
    ['NVMe before all else', { ...both, ...nvme, ...placed('CacheDisk, NvmeDisk') }, [ofNvme, cache], 472],
    ['no NVMe that it does not name', { ...both, ...nvme, ...placed('ResourceDisk') }, [temporary], 53],
    ['no NVMe where it names nothing', { ...both, ...nvme }, [cache, temporary], 53],
    ['no temporary disk where it names NVMe and has none', { ...both, ...placed('NvmeDisk') }, [], 53],
    ['nothing where it names nothing that is known', { ...both, ...placed('') }, [], 53],
    ['nothing where it has nothing', { ...placed('CacheDisk') }, undefined, undefined],
    [
      'nothing where its numbers are none',
      { CachedDiskBytes: 'much', MaxResourceVolumeMB: '-1' },
      undefined,
      undefined,
    ],
    ['nothing where it may not', { ...both, EphemeralOSDiskSupported: 'False' }, undefined, undefined],
  ])('can keep an ephemeral OS disk on %s', (_where, capabilities, localDisks, ephemeralOsMaxGb) => {
    const found = disksOf(capabilities)
    expect([found.localDisks, found.ephemeralOsMaxGb]).toEqual([localDisks, ephemeralOsMaxGb])
  })
})

describe('the OS disk of a node', () => {
  const on = (...disks: readonly (readonly [LocalDisk['placement'], number])[]): LocalDisks => ({
    localDisks: disks.map(([placement, size]) => ({ placement, size: gib(size) })),
  })
  // As Standard_D8ds_v5.
  const twoDisks = on(['CacheDisk', 100], ['ResourceDisk', 300])
  const large = on(['NvmeDisk', 2040], ['CacheDisk', 4096])

  it.each<[string, LocalDisks, Wanted, string]>([
    ['the default size, which the first disk does not hold', twoDisks, {}, 'ResourceDisk'],
    ['exactly as large as the first', twoDisks, { osDiskSizeGB: 100 }, 'CacheDisk'],
    ['larger than it in GiB, and not in GB', twoDisks, { osDiskSizeGB: 105 }, 'ResourceDisk'],
    ['exactly as large as the last', twoDisks, { osDiskSizeGB: 300 }, 'ResourceDisk'],
    ['larger than all', twoDisks, { osDiskSizeGB: 301 }, 'Managed'],
    ['with a virtual TPM, which leaves room', twoDisks, { osDiskSizeGB: 99, ...vtpm }, 'CacheDisk'],
    ['with a virtual TPM, for which the first has no room', twoDisks, { osDiskSizeGB: 100, ...vtpm }, 'ResourceDisk'],
    ['with secure boot, for which none has room', twoDisks, { osDiskSizeGB: 300, ...secureBoot }, 'Managed'],
    [
      'encrypted, without Trusted Launch',
      twoDisks,
      { osDiskSizeGB: 100, security: { encryptionAtHost: true } },
      'CacheDisk',
    ],
    ['asked to be managed', twoDisks, { osDiskSizeGB: 30, osDiskType: 'Managed' }, 'Managed'],
    ['of a size without local disks', {}, { osDiskSizeGB: 30 }, 'Managed'],
    ['as large as Azure lets it be', large, { osDiskSizeGB: 2040 }, 'NvmeDisk'],
    ['as large as that, with Trusted Launch', large, { osDiskSizeGB: 2040, ...vtpm }, 'CacheDisk'],
    ['larger than Azure lets it be', large, { osDiskSizeGB: 2041 }, 'Managed'],
  ])('%s', (_what, disks, spec, placement) => {
    expect(placementOf(disks, spec)).toBe(placement)
  })

  it('is on the first disk that a size names and that holds it, for each size of a region', () => {
    const bytesOf: Readonly<Record<string, readonly [string, number]>> = {
      NvmeDisk: ['NvmeDiskSizeInMiB', 2 ** 20],
      CacheDisk: ['CachedDiskBytes', 1],
      ResourceDisk: ['MaxResourceVolumeMB', 2 ** 20],
    }
    const classes = [30, 64, 100, 105, 127, 128, 256, 512, 1024, 2040, 2048].flatMap((osDiskSizeGB) =>
      [{}, vtpm].map((security) => settingsOf({ osDiskSizeGB, ...security })),
    )
    const met = new Set<string>()
    for (const sku of goldenSkus('eastus')) {
      const parsed = parseSku(sku, 'eastus')
      if (parsed.kind === 'excluded') continue
      const capability = (name: string) => sku.capabilities?.find((one) => one.name === name)?.value ?? ''
      const named = capability('SupportedEphemeralOSDiskPlacements').split(',')
      const placements = classes.map(({ spec: { osDiskSizeGB }, trustedLaunch }) => {
        const needed = (osDiskSizeGB + (trustedLaunch ? 1 : 0)) * 2 ** 30
        const isAllowed = capability('EphemeralOSDiskSupported') === 'True' && osDiskSizeGB <= 2040
        const fits = ([placement, [name, unit]]: readonly [string, readonly [string, number]]) =>
          isAllowed && named.includes(placement) && Number(capability(name)) * unit >= needed
        return Object.entries(bytesOf).find(fits)?.[0]
      })
      expect([sku.name, ...classes.map((nodeClass) => osDiskPlacement(parsed.size, nodeClass))]).toEqual([
        sku.name,
        ...placements,
      ])
      for (const placement of placements) met.add(placement ?? 'Managed')
    }
    expect([...met].sort()).toEqual(['CacheDisk', 'Managed', 'NvmeDisk', 'ResourceDisk'])
  })
})
