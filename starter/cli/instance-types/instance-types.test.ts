import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { builtProgram } from '../../../test/runner/program.ts'
import { readCatalog } from '../../files/catalog.ts'
import { needInput } from '../shared/input.ts'

let joiner = ''
let folder = ''

// Each test starts the program.
vi.setConfig({ testTimeout: 30_000 })

function sku(name: string, vCPUs: number, more: Readonly<Record<string, string>> = {}) {
  const facts = {
    vCPUs: String(vCPUs),
    MemoryGB: String(vCPUs * 4),
    CpuArchitectureType: 'x64',
    LowPriorityCapable: 'True',
  }
  return {
    resourceType: 'virtualMachines',
    name,
    family: 'standardDSv5Family',
    locations: ['westus2'],
    locationInfo: [{ location: 'westus2', zones: ['1', '2'] }],
    capabilities: Object.entries({ ...facts, ...more }).map(([key, value]) => ({ name: key, value })),
    restrictions: [],
  }
}

const skus = [
  sku('Standard_D8s_v5', 8),
  sku('Standard_D4s_v5', 4),
  sku('Standard_D4ps_v5', 4, { CpuArchitectureType: 'Arm64', LowPriorityCapable: 'False' }),
  sku('Standard_E4s_v5', 4, { EncryptionAtHostSupported: 'True' }),
  sku('Standard_DS14-8_v2', 16),
  { ...sku('P10', 0), resourceType: 'disks' },
]
const price = (armSkuName: string, retailPrice: number, spot = '') => ({
  armRegionName: 'westus2',
  armSkuName,
  retailPrice,
  skuName: `x${spot}`,
})
const prices = {
  Items: [
    price('Standard_D8s_v5', 0.4),
    price('Standard_D4s_v5', 0.2),
    price('Standard_D4s_v5', 0.05, ' Spot'),
    price('Standard_D4ps_v5', 0.16),
  ],
}

beforeAll(async () => {
  joiner = await builtProgram()
  folder = mkdtempSync(join(tmpdir(), 'joiner-instance-types-'))
  writeFileSync(join(folder, 'skus.json'), JSON.stringify({ value: skus }))
  writeFileSync(join(folder, 'prices.json'), JSON.stringify(prices))
  const odd = { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name: 'odd' } }
  writeFileSync(join(folder, 'odd.yaml'), JSON.stringify({ ...odd, spec: { requirements: [], price: 'cheap' } }))
  writeFileSync(join(folder, 'page.json'), JSON.stringify({ ...prices, NextPageLink: 'https://prices/?$skip=100' }))
})
afterAll(() => rmSync(folder, { recursive: true }))

function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [joiner, 'instance-types', ...args], { cwd: folder }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
  })
}

const files = ['--catalog', 'skus.json', '--prices', 'prices.json']

describe('joiner instance-types', () => {
  it('lists what a region sells by its lowest price; what no list names comes last', async () => {
    const { code, out, err } = await run(...files)
    const rows = out.split('\n').map((row) => row.trim().split(/ {2,}/))
    expect([code, err]).toEqual([0, ''])
    expect(rows[0]).toEqual([
      'NAME',
      'ARCH',
      'VCPU',
      'MEMORY',
      'ALLOCATABLE',
      'GPU',
      'ZONES',
      'ON-DEMAND',
      'SPOT',
      'AVAILABLE',
    ])
    expect(rows[1]).toEqual([
      'Standard_D4s_v5',
      'amd64',
      '4',
      '16Gi',
      '3860m 11743Mi',
      '-',
      '1,2,0',
      '0.2',
      '0.05',
      '6/6',
    ])
    expect(rows[2]?.slice(7)).toEqual(['0.16', '(unknown)', '3/6'])
    expect(rows.slice(1, 5).map(([name]) => name)).toEqual([
      'Standard_D4s_v5',
      'Standard_D4ps_v5',
      'Standard_D8s_v5',
      'Standard_E4s_v5',
    ])
  })

  it('keeps to the requirements, for types and offerings', async () => {
    const wanted = 'karpenter.azure.com/sku-family in (D), karpenter.azure.com/sku-cpu < 8'
    const onDemand = ['--requirements', 'karpenter.sh/capacity-type=on-demand']
    const { out } = await run(...files, '--requirements', wanted, ...onDemand)
    expect(
      out
        .split('\n')
        .slice(1, 3)
        .map((row) => row.split(/ {2,}/).slice(-3).join(' ')),
    ).toEqual(['0.16 - 3/3', '0.2 - 3/3'])
    expect((await run(...files, '--requirements', wanted, '-o', 'name', '--limit', '1')).out).toBe('Standard_D4s_v5\n')
  })

  it('reports labels and values that there are not', async () => {
    const { code, err } = await run(...files, '--requirements', 'team=a,karpenter.azure.com/sku-family=d')
    expect(code).toBe(0)
    expect(err).toContain('team: no instance type has this label')
    expect(err).toContain('karpenter.azure.com/sku-family: there is D, E')
    expect(err).toContain('none of 4 types meets the requirements; 1 size excluded')
  })

  it('says why sizes are excluded, by the node class too', async () => {
    const nodeClass = { apiVersion: 'karpenter.azure.com/v1beta1', kind: 'AKSNodeClass', metadata: { name: 'a' } }
    writeFileSync(
      join(folder, 'class.yaml'),
      JSON.stringify({ ...nodeClass, spec: { security: { encryptionAtHost: true }, maxPods: 60 } }),
    )
    const { out } = await run(...files, '--node-class', 'class.yaml', '--excluded', '-o', 'json')
    expect(JSON.parse(out)).toEqual([
      { name: 'Standard_DS14-8_v2', reason: 'constrained cores' },
      ...['Standard_D4ps_v5', 'Standard_D4s_v5', 'Standard_D8s_v5'].map((name) => ({
        name,
        reason: 'no encryption at host',
      })),
    ])
    expect((await run(...files, '--node-class', 'class.yaml', '-o', 'wide')).out).toMatch(/Standard_E4s_v5 .* 60 /)
  })

  it('shows where each size would keep the OS disk of the node class, and its local disks', async () => {
    const placements = {
      EphemeralOSDiskSupported: 'True',
      SupportedEphemeralOSDiskPlacements: 'ResourceDisk,CacheDisk',
    }
    const disks = { ...placements, CachedDiskBytes: String(100 * 2 ** 30), MaxResourceVolumeMB: String(300 * 1024) }
    writeFileSync(
      join(folder, 'disks.json'),
      JSON.stringify([sku('Standard_D8ds_v5', 8, disks), sku('Standard_D8s_v5', 8)]),
    )
    const shown = async (spec: object) => {
      const nodeClass = {
        apiVersion: 'karpenter.azure.com/v1beta1',
        kind: 'AKSNodeClass',
        metadata: { name: 'a' },
        spec,
      }
      writeFileSync(join(folder, 'disk-class.yaml'), JSON.stringify(nodeClass))
      const { out } = await run('--catalog', 'disks.json', '--node-class', 'disk-class.yaml', '-o', 'wide')
      const [titles = [], ...rows] = out.split('\n').map((row) => row.trim().split(/ {2,}/))
      const cells = rows.map((row) => ['OS DISK', 'LOCAL DISKS'].map((title) => row[titles.indexOf(title)]))
      return Object.fromEntries(rows.map(([name = ''], at) => [name, cells[at]]))
    }
    const local = '100Gi CacheDisk, 300Gi ResourceDisk'
    expect(await shown({})).toMatchObject({
      Standard_D8ds_v5: ['128Gi ResourceDisk', local],
      Standard_D8s_v5: ['128Gi Managed', '-'],
    })
    expect(await shown({ osDiskType: 'Managed' })).toMatchObject({ Standard_D8ds_v5: ['128Gi Managed', local] })
    const { out } = await run('--catalog', 'disks.json', '-o', 'json')
    expect(JSON.parse(out)).toMatchObject({
      instanceTypes: [
        { name: 'Standard_D8ds_v5', osDisk: { placement: 'ResourceDisk', sizeGib: 128 } },
        { name: 'Standard_D8s_v5', osDisk: { placement: 'Managed', sizeGib: 128 } },
      ],
    })
  })

  it('has the prices and resources of NodeOverlays, and says which do not count', async () => {
    const overlay = (name: string, spec: object) => {
      return { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name }, spec }
    }
    const small = [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D8s_v5'] }]
    const overlays = {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        overlay('contract', { requirements: small, price: '0.01', weight: 3 }),
        overlay('again', { requirements: small, price: '7', weight: 3 }),
        overlay('device', { requirements: small, capacity: { 'example.com/fuse': '2' } }),
        overlay('pool', {
          requirements: [{ key: 'karpenter.sh/nodepool', operator: 'In', values: ['a'] }],
          price: '8',
          weight: 9,
        }),
      ],
    }
    writeFileSync(join(folder, 'overlays.yaml'), JSON.stringify(overlays))
    const { code, out, err } = await run(...files, '--overlays', 'overlays.yaml', '-o', 'json', '--limit', '1')
    const { instanceTypes } = JSON.parse(out) as { readonly instanceTypes: readonly object[] }
    expect(code).toBe(0)
    expect(instanceTypes).toMatchObject([
      { name: 'Standard_D8s_v5', price: 0.01, capacity: { 'example.com/fuse': '2' } },
    ])
    expect(err).toContain('NodeOverlay "again" does not count: another of its weight changes the same')
    expect(err).not.toContain('"pool"')
  })

  it('prints a catalogue that joiner simulate takes, the same types in it', async () => {
    const { out } = await run(...files, '-o', 'json')
    writeFileSync(join(folder, 'types.json'), out)
    const [printed, direct] = await Promise.all([
      readCatalog(await needInput(join(folder, 'types.json')), []),
      readCatalog(await needInput(join(folder, 'skus.json')), [await needInput(join(folder, 'prices.json'))]),
    ])
    const bare = (catalog: typeof printed) =>
      catalog
        .typesFor()
        .map(({ name, capacity, offerings }) => ({
          name,
          capacity: Object.entries(capacity).map(([resource, { nano }]) => [resource, nano]),
          offerings: offerings.map(({ price: costs, available }) => [costs, available]),
        }))
        .sort((one, other) => (one.name < other.name ? -1 : 1))
    expect(bare(printed)).toEqual(bare(direct))
  })

  it('models prices where there is no list, and says so', async () => {
    const { out, err } = await run(
      '--catalog',
      'skus.json',
      '-o',
      'name',
      '--requirements',
      'karpenter.sh/capacity-type=on-demand',
    )
    expect(err).toBe('prices are modelled; add --prices FILE for real ones\n')
    expect(out.trim().split('\n').at(-1)).toBe('Standard_D8s_v5')
  })

  it.each([
    [1, ['--catalog', 'nothing.json'], 'nothing.json: cannot be read'],
    [1, ['--catalog', 'prices.json'], 'prices.json: holds no resource SKUs'],
    [1, ['--catalog', 'skus.json', '--prices', 'page.json'], 'page.json: NextPageLink: names a page that is missing'],
    [1, [...files, '--region', 'eastus'], '--region eastus: skus.json holds the SKUs of westus2'],
    [1, [...files, '--requirements', 'a b c'], 'requirement "a b c": is not understood'],
    [1, [...files, '--node-class', 'skus.json'], 'skus.json: kind is missing'],
    [1, [...files, '--overlays', 'odd.yaml'], 'odd.yaml: spec.price: NodeOverlay "odd": spec.price: '],
    [1, [...files, '--overlays', 'page.json'], 'page.json: kind is missing'],
    [2, [...files, '--limit', '0'], 'It must be a whole number from 1'],
    [2, ['--all'], "unknown option '--all'"],
  ])('ends with %i: %j', async (code, args, message) => {
    const outcome = await run(...args)
    expect(outcome).toMatchObject({ code, out: '' })
    expect(outcome.err).toContain(message)
  })
})
