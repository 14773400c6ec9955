import { describe, expect, it } from 'vitest'
import { allocatable, capacityTypeOf, type InstanceType, type Offering, zoneOf } from '../../core/instance-type.ts'
import { quantity } from '../../core/quantity.ts'
import { operatorOf, sortedValues } from '../../core/requirement.ts'
import type { Requirements } from '../../core/requirements.ts'
import type { Resources } from '../../core/resources.ts'
import {
  blockedBy,
  type GoldenMark,
  type GoldenOptions,
  goldenConfig,
  goldenNodeClass,
  goldenPrices,
  goldenSizes,
  hasGoldenCases,
  listGolden,
  readGolden,
} from '../../test/golden-cases.ts'
import { clusterLabel, instanceTypes, kubeReservedMib, kubeReservedMilliCpu } from './instance-types.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { hasQuota, usagesByFamily } from './quota.ts'

interface ReservationCase {
  readonly function: string
  readonly input: { readonly vcpus: number; readonly memoryGiB: number }
  readonly output: { readonly cpu: string; readonly memory: string }
}

type Amounts = Readonly<Record<string, string>>

interface ListCase {
  readonly name: string
  readonly region: string
  readonly skusFile: string
  readonly options: GoldenOptions
  readonly nodeClass: {
    readonly defaultedSpec: Readonly<Record<string, unknown>>
    readonly localDNSState: string
  }
  readonly usages: Parameters<typeof usagesByFamily>[0]
  readonly marks: readonly GoldenMark[]
  readonly names: readonly string[]
  readonly instanceTypes: readonly {
    readonly name: string
    readonly requirements: Readonly<Record<string, readonly string[] | string>>
    readonly capacity: Amounts
    readonly allocatable: Amounts
    readonly overhead: { readonly kubeReserved: Amounts }
    readonly offerings: readonly {
      readonly zone: string
      readonly capacityType: string
      readonly placementScope: string
      readonly ultraSSD: readonly string[]
      readonly price: number
      readonly available: boolean
    }[]
  }[]
}

function listTypes(golden: ListCase): readonly InstanceType[] {
  const config = goldenConfig(golden.region, golden.options)
  const sizes = goldenSizes(golden.skusFile, golden.region)
  const usages = usagesByFamily(golden.usages)
  return instanceTypes({
    sizes,
    region: golden.region,
    nodeClass: nodeClassSettings(
      // The cases give the resolved state; Joiner resolves it from the mode.
      goldenNodeClass({
        ...golden.nodeClass.defaultedSpec,
        ...(golden.nodeClass.localDNSState === 'Enabled' ? { localDNS: { mode: 'Required' } } : {}),
      }),
      config,
    ),
    prices: goldenPrices(golden.region),
    isMarked: blockedBy(golden.marks, sizes),
    hasQuota: (family, vCpus) => hasQuota(usages, family, vCpus),
    memoryOverheadPercent: golden.options.vmMemoryOverheadPercent,
    nodeResourceGroup: golden.options.nodeResourceGroup,
  })
}

function describeRequirements(sets: Requirements): Record<string, unknown> {
  return Object.fromEntries(
    [...sets.values()].map((set) => [set.key, operatorOf(set) === 'In' ? sortedValues(set) : operatorOf(set)]),
  )
}

const amounts = (given: Amounts) => Object.fromEntries(Object.entries(given).map(([k, v]) => [k, quantity(v).nano]))
const nanos = (given: Resources) => Object.fromEntries(Object.entries(given).map(([k, v]) => [k, v.nano]))

function describeOffering(offering: Offering) {
  return {
    zone: zoneOf(offering),
    capacityType: capacityTypeOf(offering),
    placementScope: sortedValues(offering.requirements.get('karpenter.azure.com/placement-scope') as never)[0],
    ultraSSD: sortedValues(offering.requirements.get('karpenter.azure.com/sku-storage-ultra-ssd') as never).sort(),
    price: offering.price,
    available: offering.available,
  }
}

const byPlace = (a: { capacityType: string; zone: string }, b: { capacityType: string; zone: string }) =>
  `${a.capacityType}/${a.zone}` < `${b.capacityType}/${b.zone}` ? -1 : 1

describe('the list of a node class', () => {
  it.for(listGolden('vectors/instancetypes'))('%s', (path) => {
    const golden = readGolden(path) as ListCase
    const types = listTypes(golden)
    expect(types.map(({ name }) => name).sort()).toEqual([...golden.names].sort())
    const byName = new Map(types.map((type) => [type.name, type]))
    for (const expected of golden.instanceTypes) {
      const type = byName.get(expected.name) as InstanceType
      expect({ name: type.name, ...describeRequirements(type.requirements) }).toEqual({
        name: type.name,
        ...expected.requirements,
      })
      expect(nanos(type.capacity)).toEqual(amounts(expected.capacity))
      expect(nanos(allocatable(type))).toEqual(amounts(expected.allocatable))
      expect(nanos(type.overhead.kubeReserved ?? {})).toEqual(amounts(expected.overhead.kubeReserved))
      expect(type.offerings.map(describeOffering).sort(byPlace)).toEqual(
        expected.offerings.map((o) => ({ ...o, ultraSSD: [...o.ultraSSD].sort() })).sort(byPlace),
      )
    }
  })
})

describe('reservations for the kubelet', () => {
  it.skipIf(!hasGoldenCases)('equal the reference', () => {
    const { cases } = readGolden('vectors/functions.json') as { readonly cases: readonly ReservationCase[] }
    for (const { input, output } of cases.filter((golden) => golden.function === 'kubeReserved')) {
      const own = { cpu: `${kubeReservedMilliCpu(input.vcpus)}m`, memory: `${kubeReservedMib(input.memoryGiB)}Mi` }
      expect({ input, ...amounts(own) }).toEqual({ input, ...amounts({ ...output }) })
    }
  })

  it.each([
    [1, 1, 60, 256],
    [4, 7, 140, 1638],
    [2, 8, 100, 1843],
    [3, 64, 120, 5611],
  ])('%d cores, %d GiB', (cores, gib, milli, mib) => {
    expect(kubeReservedMilliCpu(cores)).toBe(milli)
    expect(kubeReservedMib(gib)).toBe(mib)
  })
})

describe('the cluster label', () => {
  it.each([
    ['MC_my(rg)_eastus', 'MC_my-rg-_eastus'],
    [`${'a'.repeat(62)}-b`, `${'a'.repeat(62)}z`],
    ['rg', 'rg'],
  ])('%s', (group, label) => {
    expect(clusterLabel(group)).toBe(label)
  })
})
