import { describe, expect, it } from 'vitest'
import type { InstanceType } from '../../core/instance-type.ts'
import { labels } from '../../core/labels.ts'
import type { RequirementSpec } from '../../core/objects.ts'
import { inValues } from '../../core/requirement.ts'
import { requirements } from '../../core/requirements.ts'
import { parseResources } from '../../core/resources.ts'
import {
  blockedBy,
  type GoldenMark,
  type GoldenOptions,
  goldenConfig,
  goldenNodeClass,
  goldenPrices,
  goldenSizes,
  hasGoldenCases,
  readGolden,
} from '../../test/golden-cases.ts'
import { chooseOffering } from './choose-offering.ts'
import { instanceTypes } from './instance-types.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { hasQuota, usagesByFamily } from './quota.ts'

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

describe('the choice of the reference', () => {
  interface AllocateCase {
    readonly name: string
    readonly region: string
    readonly marks: readonly GoldenMark[]
    readonly usages: Parameters<typeof usagesByFamily>[0]
    readonly nodeClass: { readonly defaultedSpec: Readonly<Record<string, unknown>>; readonly localDNSState: string }
    readonly nodeClaimSpec: {
      readonly requirements: readonly RequirementSpec[] | null
      readonly resources?: { readonly requests?: Readonly<Record<string, string>> }
    }
    readonly expected: {
      readonly selection: {
        readonly instanceType: string
        readonly capacityType: string
        readonly price: number
        readonly zoneOneOf: readonly string[]
      } | null
    }
  }
  const { cases, options } = hasGoldenCases
    ? (readGolden('vectors/allocate.json') as {
        readonly cases: readonly AllocateCase[]
        readonly options: GoldenOptions
      })
    : { cases: [], options: undefined }

  it.for(cases)('$name', (golden) => {
    const sizes = goldenSizes(`skus/${golden.region}.json`, golden.region)
    const usages = usagesByFamily(golden.usages)
    const types = instanceTypes({
      sizes,
      region: golden.region,
      nodeClass: nodeClassSettings(
        goldenNodeClass({
          ...golden.nodeClass.defaultedSpec,
          ...(golden.nodeClass.localDNSState === 'Enabled' ? { localDNS: { mode: 'Required' } } : {}),
        }),
        goldenConfig(golden.region, options as GoldenOptions),
      ),
      prices: goldenPrices(golden.region),
      isMarked: blockedBy(golden.marks, sizes),
      hasQuota: (family, vCpus) => hasQuota(usages, family, vCpus),
      memoryOverheadPercent: 0.075,
      nodeResourceGroup: 'test-resourceGroup',
    })
    const choice = chooseOffering(types, {
      uid: 'uid',
      requirements: requirements(golden.nodeClaimSpec.requirements ?? []),
      requests: parseResources(golden.nodeClaimSpec.resources?.requests),
    })
    const { selection } = golden.expected
    if (selection === null) return expect(choice).toBeUndefined()
    expect(choice?.instanceType.name).toBe(selection.instanceType)
    expect(choice?.capacityType).toBe(selection.capacityType)
    expect(choice?.offering.price).toBe(selection.price)
    expect(selection.zoneOneOf).toContain(choice?.zone)
  })
})
