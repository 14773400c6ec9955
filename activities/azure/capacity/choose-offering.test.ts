import { describe, expect, it } from 'vitest'
import type { InstanceType } from '../../../core/instance-type.ts'
import type { RequirementSpec } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { inValues } from '../../../core/requirements/requirement.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { parseResources } from '../../../core/resources.ts'
import {
  blockedBy,
  familyRoom,
  type GoldenMark,
  type GoldenOptions,
  goldenConfig,
  goldenLivePrices,
  goldenNodeClass,
  goldenPrices,
  goldenSizes,
} from '../../../test/vectors/golden-cases.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { instanceTypes } from '../catalogue/instance-types.ts'
import type { PriceList } from '../catalogue/pricing.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { type Choice, chooseOffering, type Wanted } from './choose-offering.ts'
import type { usagesOf } from './quota-accounting.ts'

type Sale = readonly [zone: string, capacityType: string, price: number, available?: boolean]

function type(name: string, sales: readonly Sale[]): InstanceType {
  return {
    name,
    requirements: new Map([[labels.instanceType, inValues(labels.instanceType, [name])]]),
    capacity: parseResources({ cpu: '4', memory: '16Gi', pods: '110' }),
    overhead: {},
    offerings: sales.map(([zone, capacityType, price, available = true]) => ({
      price,
      available,
      requirements: new Map([
        [labels.zone, inValues(labels.zone, [zone])],
        [labels.capacityType, inValues(labels.capacityType, [capacityType])],
      ]),
    })),
  }
}

function choose(
  types: readonly InstanceType[],
  specs: readonly RequirementSpec[] = [],
  requests: Readonly<Record<string, string>> = {},
  uid = 'uid',
): string | undefined {
  const choice = chooseOffering(types, {
    uid,
    requirements: requirements(specs),
    requests: parseResources(requests),
  })
  return choice && `${choice.instanceType.name} ${choice.capacityType} ${choice.zone}`
}

describe('the choice', () => {
  it.each<[string, readonly InstanceType[], string | undefined]>([
    ['the cheapest', [type('a', [['1', 'spot', 2]]), type('b', [['1', 'on-demand', 1]])], 'b on-demand 1'],
    [
      'spot before on-demand at one price',
      [
        type('a', [
          ['1', 'on-demand', 1],
          ['1', 'spot', 1],
        ]),
      ],
      'a spot 1',
    ],
    [
      'zonal before regional',
      [
        type('a', [
          ['0', 'spot', 1],
          ['1', 'spot', 1],
        ]),
      ],
      'a spot 1',
    ],
    ['the first name', [type('b', [['1', 'spot', 1]]), type('a', [['1', 'spot', 1]])], 'a spot 1'],
    ['only what is available', [type('a', [['1', 'spot', 1, false]]), type('b', [['1', 'spot', 9]])], 'b spot 1'],
    ['nothing', [type('a', [['1', 'spot', 1, false]])], undefined],
  ])('is %s', (_what, types, expected) => {
    expect(choose(types)).toBe(expected)
  })

  it('keeps to requirements and requests', () => {
    const types = [type('small', [['1', 'spot', 1]]), type('other', [['2', 'on-demand', 5]])]
    expect(choose(types, [{ key: labels.zone, operator: 'In', values: ['2'] }])).toBe('other on-demand 2')
    expect(choose(types, [{ key: labels.instanceType, operator: 'NotIn', values: ['small'] }])).toBe(
      'other on-demand 2',
    )
    expect(choose(types, [], { cpu: '5' })).toBeUndefined()
  })

  it('spreads equal claims over equal zones, and repeats itself for one claim', () => {
    const types = [
      type(
        'a',
        ['1', '2', '3'].map((zone): Sale => [zone, 'spot', 1]),
      ),
    ]
    const chosen = Array.from({ length: 60 }, (_, index) => choose(types, [], {}, `claim-${index}`))
    expect(new Set(chosen).size).toBe(3)
    expect(chosen).toEqual(Array.from({ length: 60 }, (_, index) => choose(types, [], {}, `claim-${index}`)))
  })
})

interface RankedOffering {
  readonly price: number
  readonly capacityType: string
  readonly placementScope: string
}

interface AllocateCase {
  readonly name: string
  readonly region: string
  readonly marks: readonly GoldenMark[]
  readonly usages?: Parameters<typeof usagesOf>[0]
  readonly nodeClass: { readonly defaultedSpec: Readonly<Record<string, unknown>>; readonly localDNSState: string }
  readonly nodeClaimSpec: {
    readonly requirements: readonly RequirementSpec[] | null
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> }
  }
  readonly expected: {
    /** The eligible offerings, or their number. */
    readonly eligible?: readonly string[]
    readonly eligibleCount?: number
    readonly candidateCount: number
    readonly ranking: readonly (RankedOffering & { readonly instanceType: string })[]
    readonly bestTypeOfferingOrder?: readonly RankedOffering[] | null
    readonly selection:
      | (RankedOffering & { readonly instanceType: string; readonly zoneOneOf: readonly string[] })
      | null
  }
}

interface AllocateCases {
  readonly cases: readonly AllocateCase[]
  readonly options: GoldenOptions
}

goldenSuite('azure/allocate', 49, ({ cases, options }: AllocateCases) => allocates(cases, options, goldenPrices))

goldenSuite('azure/allocate-live-prices', 9, ({ cases }: { readonly cases: readonly AllocateCase[] }) =>
  allocates(cases, plainOptions, goldenLivePrices),
)

/** Returns the best offering of each of the first types: of all, then of those that are left. */
function bestOfTypes(types: readonly InstanceType[], claim: Wanted, count: number): readonly Choice[] {
  const best = count === 0 ? undefined : chooseOffering(types, claim)
  if (best === undefined) return []
  return [
    best,
    ...bestOfTypes(
      types.filter((type) => type !== best.instanceType),
      claim,
      count - 1,
    ),
  ]
}

/** Returns all offerings of a type that a claim can use, the best first. */
function offeringsOf(type: InstanceType | undefined, claim: Wanted, tried: readonly Choice[] = []): readonly Choice[] {
  const accepts = (offering: Choice['offering']) => tried.every((choice) => choice.offering !== offering)
  const next = type && chooseOffering([type], { ...claim, accepts })
  return next === undefined ? tried : offeringsOf(type, claim, [...tried, next])
}

function allocates(
  cases: readonly AllocateCase[],
  options: GoldenOptions,
  pricesIn: (region: string) => PriceList,
): void {
  it.for(cases)('$name', ({ region, marks, usages = [], nodeClass, nodeClaimSpec, expected }) => {
    const sizes = goldenSizes(region)
    const types = instanceTypes({
      sizes,
      region,
      nodeClass: nodeClassSettings(
        goldenNodeClass({
          ...nodeClass.defaultedSpec,
          ...(nodeClass.localDNSState === 'Enabled' ? { localDNS: { mode: 'Required' } } : {}),
        }),
        goldenConfig(region, options),
      ),
      prices: pricesIn(region),
      isMarked: blockedBy(marks, sizes),
      hasQuota: familyRoom(usages),
      memoryOverheadPercent: options.vmMemoryOverheadPercent,
      nodeResourceGroup: options.nodeResourceGroup,
    })
    const claim = {
      uid: 'uid',
      requirements: requirements(nodeClaimSpec.requirements ?? []),
      requests: parseResources(nodeClaimSpec.resources?.requests),
    }
    const eligible = types.filter((type) => chooseOffering([type], claim) !== undefined)
    const names = eligible.map(({ name }) => name)
    expect(eligible.length).toBe(expected.candidateCount)
    if (expected.eligible !== undefined) expect(new Set(names)).toEqual(new Set(expected.eligible))
    else expect(names.length).toBe(expected.eligibleCount)
    const ranked = bestOfTypes(eligible, claim, 15)
    const shown = ranked.map((best) => ({ instanceType: best.instanceType.name, ...rankedOffering(best) }))
    expect(shown).toEqual(expected.ranking.slice(0, 15))
    if (expected.bestTypeOfferingOrder !== undefined)
      expect(offeringsOf(ranked[0]?.instanceType, claim).map(rankedOffering)).toEqual(
        expected.bestTypeOfferingOrder ?? [],
      )

    const choice = chooseOffering(types, claim)
    expect(choice).toEqual(ranked[0])
    if (choice === undefined || expected.selection === null) {
      expect([choice, expected.selection]).toEqual([undefined, null])
      return
    }
    const { zoneOneOf, ...selection } = expected.selection
    expect({ instanceType: choice.instanceType.name, ...rankedOffering(choice) }).toEqual(selection)
    expect(zoneOneOf).toContain(choice.zone)
  })
}

const plainOptions: GoldenOptions = {
  nodeResourceGroup: 'test-resourceGroup',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
}

function rankedOffering({ offering, zone, capacityType }: Choice): RankedOffering {
  return { price: offering.price, capacityType, placementScope: zone === '0' ? 'regional' : 'zonal' }
}
