import { expect, it } from 'vitest'
import { modelledPrices } from '../../../activities/azure/catalogue/pricing.ts'
import { goldenSizes } from '../../../test/vectors/golden-cases.ts'
import { sizeCatalog } from '../../files/catalog.ts'
import { validateObject } from './validate-object.ts'

const azure = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
const sku = (name: string) => `karpenter.azure.com/sku-${name}`
const aks = (name: string) => `kubernetes.azure.com/${name}`
const zone = 'topology.kubernetes.io/zone'

interface Parts {
  readonly template?: object
  readonly labels?: object
  readonly disruption?: object
}

function warningsOf({ template = {}, labels = {}, disruption = {} }: Parts): readonly string[] {
  const spec = { requirements: [], nodeClassRef: azure, ...template }
  const result = validateObject({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'a' },
    spec: { template: { metadata: { labels }, spec }, disruption: { consolidateAfter: '1m', ...disruption } },
  })
  return result.kind === 'checked' ? result.warnings : []
}

it.each<[key: string, wrong: string, right: string]>([
  ['karpenter.sh/capacity-type', 'Spot', 'spot'],
  ['karpenter.sh/capacity-type', 'ondemand', 'on-demand'],
  ['kubernetes.io/os', 'windows', 'linux'],
  ['kubernetes.io/arch', 'x86_64', 'amd64'],
  ['beta.kubernetes.io/arch', 'aarch64', 'arm64'],
  [zone, '1', 'eastus-1'],
  [zone, 'us-east-1a', 'eastus-1'],
  [zone, 'europe-west1-b', 'eastus-1'],
  [zone, 'EastUS-1', 'eastus-1'],
  ['failure-domain.beta.kubernetes.io/zone', '2', 'eastus-1'],
  ['topology.kubernetes.io/region', 'us-east-1', 'eastus'],
  ['topology.kubernetes.io/region', 'EastUS', 'eastus'],
  ['node.kubernetes.io/instance-type', 'm5.large', 'Standard_D4s_v5'],
  ['node.kubernetes.io/instance-type', 'standard_d4s_v5', 'Standard_D4s_v5'],
  ['node.kubernetes.io/instance-type', 'D4s_v5', 'Standard_D4s_v5'],
  [sku('name'), 'Standard-D4s-v5', 'Standard_D4s_v5'],
  [sku('family'), 'd', 'D'],
  [sku('family'), 'NC', 'NCads_v4'],
  [sku('family'), 'NCas_T4_v3', 'NCads_v4'],
  [sku('family'), 'standardDSv5Family', 'D'],
  [sku('series'), 'Dsv5', 'Dds_v5'],
  [sku('series'), 'D-series', 'Dds_v5'],
  [sku('version'), 'v5', '5'],
  [sku('cpu'), '4vcpu', '4'],
  [aks('sku-cpu'), 'four', '4'],
  [sku('memory'), '16Gi', '16384'],
  [aks('sku-memory'), '16', '16384'],
  [sku('gpu-name'), 'nvidia-tesla-t4', 'T4'],
  [sku('gpu-name'), 'a100', 'A100'],
  [sku('gpu-name'), 'V100', 'NCs_v3'],
  [sku('gpu-manufacturer'), 'NVIDIA', 'nvidia'],
  [sku('gpu-count'), 'one', '1'],
  [sku('networking-accelerated'), 'True', 'true'],
  [sku('storage-premium-capable'), 'yes', 'true'],
  [sku('storage-ultra-ssd'), 'enabled', 'true'],
  [sku('storage-ephemeralos-maxsize'), '128GB', '128'],
  ['karpenter.azure.com/placement-scope', 'zone', 'zonal'],
  [aks('mode'), 'System', 'system'],
  [aks('scalesetpriority'), 'Spot', 'spot'],
  [aks('priority'), 'on-demand', 'regular'],
  [aks('os-sku'), 'Ubuntu2204', 'Ubuntu'],
  [aks('os-sku'), 'Mariner', 'AzureLinux'],
  [aks('fips_enabled'), 'false', 'DoesNotExist'],
  ['node.kubernetes.io/windows-build', '10.0.20348', 'Linux'],
])('%s of %s has a warning with the value %s', (key, wrong, right) => {
  for (const parts of [
    { template: { requirements: [{ key, operator: 'In', values: [wrong] }] } },
    { template: { requirements: [{ key, operator: 'NotIn', values: [wrong] }] } },
    { labels: { [key]: wrong } },
  ]) {
    const warnings = warningsOf(parts)
    expect(warnings).toEqual([expect.stringContaining(wrong)])
    expect(warnings[0]?.replace(key, '').split('; use ')[1]).toContain(right)
  }
})

it('names the wrong values only, and some of many', () => {
  const zones = (...values: readonly string[]) =>
    warningsOf({ template: { requirements: [{ key: zone, operator: 'In', values }] } })
  expect(zones('eastus-1', '2', '3')).toEqual([expect.stringContaining(`${zone} In 2, 3: not every`)])
  expect(zones('1', '2', '3', '4', '5', '6')).toEqual([expect.stringContaining(`${zone} In 1 and 5 more: not every`)])
})

it.each(['Gt', 'Lt', 'Gte', 'Lte'])('memory is compared by %s in MiB, other numbers in any', (operator) => {
  const compared = (name: string, value: string) =>
    warningsOf({ template: { requirements: [{ key: sku(name), operator, values: [value] }] } })
  expect(compared('memory', '16')).toEqual([
    `spec.template.spec.requirements: ${sku('memory')} ${operator} 16: not every value is one that a node can have; use MiB, such as 16384 for 16 GiB`,
  ])
  expect([...compared('memory', '16383'), ...compared('version', '4'), ...compared('cpu', '0')]).toEqual([])
})

it('no label of a size that Azure sells has a warning', async () => {
  const region = 'eastus'
  const sizes = goldenSizes(region)
  const types = (await sizeCatalog({ region, sizes, prices: modelledPrices })).typesFor()
  expect(types.length).toBeGreaterThan(500)
  const values = new Map<string, Set<string>>()
  for (const { requirements } of types)
    for (const [key, one] of requirements)
      for (const value of one.values) values.set(key, (values.get(key) ?? new Set()).add(value))
  expect(values.size).toBeGreaterThan(15)
  const requirements = [...values].map(([key, all]) => ({ key, operator: 'In', values: [...all] }))
  expect(warningsOf({ template: { requirements } })).toEqual([])
})

it('labels of other providers are named with those of Azure', () => {
  const requirements = [
    { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm'] },
    { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
    { key: 'topology.k8s.aws/zone-id', operator: 'Exists' },
    { key: 'cloud.google.com/gke-spot', operator: 'In', values: ['true'] },
    { key: 'karpenter.k8s.azure/sku-cpu', operator: 'Gt', values: ['4'] },
    { key: 'karpenter.k8s.aws/instance-hypervisor', operator: 'In', values: ['nitro'] },
    { key: 'example.com/team', operator: 'In', values: ['red'] },
  ]
  expect(warningsOf({ template: { requirements } })).toEqual([
    'spec.template.spec.requirements: labels of other providers have no effect on the choice of sizes; ' +
      'karpenter.k8s.aws/instance-category: use karpenter.azure.com/sku-family, such as D; ' +
      'karpenter.k8s.aws/instance-generation: use karpenter.azure.com/sku-version, such as Gt 4; ' +
      'topology.k8s.aws/zone-id: use topology.kubernetes.io/zone, such as eastus-1; ' +
      'cloud.google.com/gke-spot: use karpenter.sh/capacity-type, such as spot; ' +
      'karpenter.k8s.azure/sku-cpu: use karpenter.azure.com/sku-cpu, such as 4; ' +
      'karpenter.k8s.aws/instance-hypervisor: remove it',
  ])
})

it.each([
  ['karpenter.k8s.aws', 'EC2NodeClass'],
  ['eks.amazonaws.com', 'NodeClass'],
  ['karpenter.azure.com', 'AKSNodePool'],
  ['karpenter.sh', 'AKSNodeClass'],
])('a NodePool whose class is of %s and %s has no effect', (group, kind) => {
  expect(warningsOf({ template: { nodeClassRef: { group, kind, name: 'default' } } })).toEqual([
    expect.stringMatching(
      new RegExp(`nodeClassRef: ${kind} of ${group} .* use kind AKSNodeClass and group karpenter.azure.com$`),
    ),
  ])
})

const atNight = { nodes: '50%', schedule: '0 22 * * *', duration: '8h' }

it.each<[what: string, budgets: readonly object[], unlimited: string | undefined]>([
  ['the default', [{ nodes: '10%' }], undefined],
  ['at night only', [atNight], 'Drifted, Empty, Underutilized'],
  ['at night, and always', [atNight, { nodes: '1' }], undefined],
  ['at night, and always for one reason', [atNight, { nodes: '1', reasons: ['Empty'] }], 'Drifted, Underutilized'],
  ['at night for one reason', [{ ...atNight, reasons: ['Drifted'] }], 'Drifted'],
  ['for one reason, and no word on the others', [{ nodes: '1', reasons: ['Drifted'] }], undefined],
  ['none at all', [], undefined],
  ['the whole of each day', [{ ...atNight, duration: '24h' }], undefined],
  [
    'the whole of a week, once',
    [{ ...atNight, schedule: '0 0 * * mon', duration: '24h' }],
    'Drifted, Empty, Underutilized',
  ],
])('budgets %s', (_what, budgets, unlimited) => {
  const expected = unlimited && `spec.disruption.budgets: each entry for ${unlimited} has a schedule, so outside of`
  expect(warningsOf({ disruption: { budgets } })).toEqual(
    expected === undefined ? [] : [expect.stringContaining(expected)],
  )
})

it('are beside errors', () => {
  const requirements = [{ key: zone, operator: 'In', values: ['1'] }]
  const template = { requirements, taint: [], nodeClassRef: azure }
  expect(warningsOf({ template })).toEqual([expect.stringContaining(`${zone} In 1`)])
})
