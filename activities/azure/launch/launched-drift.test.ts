import { expect, it } from 'vitest'
import { poolDrift } from '../../../core/drift/pool-drift.ts'
import { capacityTypeOf, type InstanceType, type Offering, zoneOf } from '../../../core/instance-type.ts'
import type { RequirementSpec } from '../../../core/objects.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { sampleClaim, samplePool } from '../../../test/samples/sample-objects.ts'
import { goldenConfig, goldenNodeClass } from '../../../test/vectors/golden-cases.ts'
import { plannedClaim } from '../../../test/vectors/planned-claim.ts'
import { instanceTypes } from '../catalogue/instance-types.ts'
import { pricesOf } from '../catalogue/pricing.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { launchedLabels, requiresUltraSsd } from '../node-config/node-labels.ts'

const region = 'westus2'
const config = goldenConfig(region, {
  nodeResourceGroup: 'MC_group',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})

const plain: VmSize = {
  name: 'Standard_D4s_v5',
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
  ultraSsdRegional: true,
  zones: ['1', '2'],
}
const sizes: readonly VmSize[] = [
  plain,
  { ...plain, name: 'Standard_D4ps_v5', arch: 'arm64', hyperVGenerations: ['2'], zones: [], spotCapable: false },
]

const types = instanceTypes({
  region,
  sizes,
  nodeClass: nodeClassSettings(goldenNodeClass({}), config),
  prices: pricesOf([]),
  isMarked: () => false,
  hasQuota: () => true,
  memoryOverheadPercent: 0.075,
  nodeResourceGroup: 'MC_group',
})

/** Requires every well-known label of a type, in all values that it has, and one of the user's own. */
function pickyPool(type: InstanceType, operator: 'In' | 'Exists') {
  const wanted = [...type.requirements.values()]
    .filter(({ key, complement, values }) => wellKnownLabels.has(key) && !complement && values.size > 0)
    .map(
      ({ key, values }): RequirementSpec => ({ key, operator, ...(operator === 'In' ? { values: [...values] } : {}) }),
    )
  const own: RequirementSpec = { key: 'example.com/team', operator: 'Exists' }
  return samplePool('default', { spec: { requirements: [...wanted, own] } })
}

function launched(pool: ReturnType<typeof samplePool>, type: InstanceType, offering: Offering) {
  const { finished } = plannedClaim(pool, [type])
  if (finished.kind === 'error') throw new Error(JSON.stringify(finished.cause))
  const { labels: planned, requirements: specs } = finished.claim
  const wanted = requirements(specs)
  const chosen = {
    typeName: type.name,
    instanceType: type,
    zone: zoneOf(offering),
    capacityType: capacityTypeOf(offering),
    ultraSsd: requiresUltraSsd(wanted),
  }
  const labels = { ...planned, ...launchedLabels(chosen, wanted, region) }
  return sampleClaim('n', { metadata: { labels }, spec: { requirements: specs } })
}

it('nothing that was just launched has drifted, however much its pool asks for', () => {
  const looks = types.flatMap((type) =>
    type.offerings
      .filter(({ available }) => available)
      .flatMap((offering) =>
        (['In', 'Exists'] as const).map((operator) => {
          const nodePool = pickyPool(type, operator)
          const claim = launched(nodePool, type, offering)
          return poolDrift({ claim, nodePool, instanceTypes: types, now: Date.parse('2036-01-01T00:00:00Z') })
        }),
      ),
  )
  expect(looks.length).toBeGreaterThan(10)
  expect(looks.filter(({ kind }) => kind !== 'none')).toEqual([])
})
