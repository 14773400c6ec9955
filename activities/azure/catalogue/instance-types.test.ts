import { describe, expect, it } from 'vitest'
import { allocatable, type InstanceType, type Offering } from '../../../core/instance-type.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { operatorOf, type Requirement, sortedValues } from '../../../core/requirements/requirement.ts'
import type { Requirements } from '../../../core/requirements/requirements.ts'
import type { Resources } from '../../../core/resources.ts'
import { quantity } from '../../../core/values/quantity.ts'
import {
  blockedBy,
  familyRoom,
  type GoldenMark,
  type GoldenOptions,
  goldenConfig,
  goldenNodeClass,
  goldenPrices,
  goldenSizes,
  goldenSkus,
} from '../../../test/vectors/golden-cases.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { vectorNames } from '../../../test/vectors/packs.ts'
import type { usagesOf } from '../capacity/quota-accounting.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { clusterLabel, instanceTypes } from './instance-types.ts'

type Amounts = Readonly<Record<string, string>>

interface ListCase {
  readonly name: string
  readonly region: string
  readonly options: GoldenOptions
  readonly nodeClass: {
    readonly defaultedSpec: Readonly<Record<string, unknown>>
    readonly localDNSState: string
  }
  readonly usages: Parameters<typeof usagesOf>[0]
  readonly marks: readonly GoldenMark[]
  readonly names: readonly string[]
  readonly excludedNames: readonly string[]
  readonly complete: boolean
  readonly instanceTypes: readonly {
    readonly name: string
    readonly requirements: Readonly<Record<string, unknown>>
    readonly capacity: Amounts
    readonly allocatable: Amounts
    readonly overhead: Readonly<Record<'kubeReserved' | 'systemReserved' | 'evictionThreshold', Amounts>>
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
  const sizes = goldenSizes(golden.region)
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
    hasQuota: familyRoom(golden.usages),
    memoryOverheadPercent: golden.options.vmMemoryOverheadPercent,
    nodeResourceGroup: golden.options.nodeResourceGroup,
  })
}

/** Returns a set as the cases write it: values, a bare operator, or both. */
function describeSet(set: Requirement): unknown {
  const operator = operatorOf(set)
  if (operator === 'In') return sortedValues(set)
  return operator === 'NotIn' ? { operator, values: sortedValues(set) } : operator
}

const describeSets = (sets: Requirements) =>
  Object.fromEntries([...sets.values()].map((set) => [set.key, describeSet(set)]))
const amounts = (given: Amounts) => Object.fromEntries(Object.entries(given).map(([k, v]) => [k, quantity(v).nano]))
const nanos = (given: Resources = {}) => Object.fromEntries(Object.entries(given).map(([k, v]) => [k, v.nano]))

/** Returns an offering. Its own requirements are beside its priority, which follows from the capacity type. */
function describeOffering({ requirements, price, available }: Offering) {
  const { [labels.zone]: zone, [labels.capacityType]: capacityType, ...rest } = describeSets(requirements)
  return { zone, capacityType, price, available, rest }
}

type GoldenOffering = ListCase['instanceTypes'][number]['offerings'][number]

function expectedOffering({ zone, capacityType, placementScope, ultraSSD, price, available }: GoldenOffering) {
  const priority = [capacityType === 'spot' ? 'spot' : 'regular']
  const rest = {
    'karpenter.azure.com/placement-scope': [placementScope],
    'karpenter.azure.com/sku-storage-ultra-ssd': [...ultraSSD].sort(),
    'kubernetes.azure.com/priority': priority,
    'kubernetes.azure.com/scalesetpriority': priority,
  }
  return { zone: [zone], capacityType: [capacityType], price, available, rest }
}

const byPlace = <T extends { readonly zone: unknown; readonly capacityType: unknown }>(offerings: readonly T[]) =>
  Object.fromEntries(
    offerings.map((offering) => [`${String(offering.capacityType)} ${String(offering.zone)}`, offering]),
  )

/** Upstream knows no capacity reservations; a type that none is for says so. */
function withoutReservation(sets: Requirements): Requirements {
  expect(describeSets(sets)[labels.reservationId]).toBe('DoesNotExist')
  return new Map([...sets].filter(([key]) => key !== labels.reservationId))
}

/** Upstream's provider sets no volume limits, and the SKUs of these cases leave out how many data disks a size takes. */
function withoutLimits(type: InstanceType): InstanceType {
  expect(type.volumeAttachmentLimits).toBeUndefined()
  return type
}

function describeType(type: InstanceType) {
  const { kubeReserved, systemReserved, evictionThreshold } = type.overhead
  return {
    name: type.name,
    requirements: describeSets(withoutReservation(type.requirements)),
    capacity: nanos(type.capacity),
    allocatable: nanos(allocatable(type)),
    overhead: {
      kubeReserved: nanos(kubeReserved),
      systemReserved: nanos(systemReserved),
      evictionThreshold: nanos(evictionThreshold),
    },
    offerings: byPlace(type.offerings.map(describeOffering)),
  }
}

function expectedType({
  name,
  requirements,
  capacity,
  overhead,
  offerings,
  ...rest
}: ListCase['instanceTypes'][number]) {
  return {
    name,
    requirements,
    capacity: amounts(capacity),
    allocatable: amounts(rest.allocatable),
    overhead: {
      kubeReserved: amounts(overhead.kubeReserved),
      systemReserved: amounts(overhead.systemReserved),
      evictionThreshold: amounts(overhead.evictionThreshold),
    },
    offerings: byPlace(offerings.map(expectedOffering)),
  }
}

/** Returns sizes of the whole catalogue that did not become a type, for the list or for this node class. */
function excludedNames(golden: ListCase, types: readonly InstanceType[]): readonly string[] {
  const offered = new Set(types.map(({ name }) => name))
  const sizes = goldenSkus(golden.region).filter(({ resourceType }) => resourceType === 'virtualMachines')
  return sizes.flatMap(({ name = '' }) => (offered.has(name) ? [] : [name])).sort()
}

/** Number of types that each configuration describes. */
const configurations: Readonly<Record<number, string>> = {
  10: 'default-westcentralus node-rg-long-with-parens',
  16: 'default fips-sig-ubuntu image-ubuntu2204 kubelet-config marks-all-spot marks-single network-none osdisk-256 overhead-0 quota-limited',
  60: 'artifact-streaming-true encryption-at-host gpu-none image-azurelinux localdns-enabled marks-family maxpods-30 network-node-subnet osdisk-2048 osdisk-60 trusted-launch-vtpm',
  873: 'default-eastus',
}

const countOf = new Map<string, number>(
  Object.entries(configurations).flatMap(([count, names]) =>
    names.split(' ').map((name) => [name, Number(count)] as const),
  ),
)

for (const name of new Set([...countOf.keys(), ...vectorNames('azure-instance-types')])) {
  goldenSuite(
    `azure-instance-types/${name}`,
    countOf.get(name) ?? 1,
    (golden: ListCase) => {
      const types = listTypes(golden)
      const byName = new Map(types.map((type) => [type.name, type]))

      it('lists the same names, and leaves out the same', () => {
        expect(types.map(({ name }) => name).sort()).toEqual([...golden.names].sort())
        expect(excludedNames(golden, types)).toEqual([...golden.excludedNames].sort())
        if (golden.complete) expect(golden.instanceTypes.length).toBe(types.length)
      })

      it('describes each type the same', () => {
        for (const expected of golden.instanceTypes)
          expect(describeType(withoutLimits(byName.get(expected.name) as InstanceType))).toEqual(expectedType(expected))
      })
    },
    { of: ({ instanceTypes: all }: ListCase) => all },
  )
}

describe('the cluster label', () => {
  it.each([
    ['MC_my(rg)_eastus', 'MC_my-rg-_eastus'],
    [`${'a'.repeat(62)}-b`, `${'a'.repeat(62)}z`],
    ['rg', 'rg'],
  ])('%s', (group, label) => {
    expect(clusterLabel(group)).toBe(label)
  })
})
