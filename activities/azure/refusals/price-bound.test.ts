import { describe, expect, it } from 'vitest'
import type { InstanceType, Offering } from '../../../core/instance-type.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { inValues } from '../../../core/requirements/requirement.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { parseResources } from '../../../core/resources.ts'
import { isWithin, priceBound } from './price-bound.ts'

type Sale = readonly [capacityType: string, price: number, available?: boolean]

const offering = ([capacityType, price, available = true]: Sale): Offering => ({
  price,
  available,
  requirements: new Map([
    [labels.zone, inValues(labels.zone, ['1'])],
    [labels.capacityType, inValues(labels.capacityType, [capacityType])],
  ]),
})

const type = (name: string, cpu: string, ...sales: readonly Sale[]): InstanceType => ({
  name,
  requirements: new Map([[labels.instanceType, inValues(labels.instanceType, [name])]]),
  capacity: parseResources({ cpu, memory: '16Gi', pods: '110' }),
  overhead: {},
  offerings: sales.map(offering),
})

const types = [
  type('tiny', '1', ['on-demand', 0.01]),
  type('small', '4', ['on-demand', 0.1, false], ['spot', 0.02]),
  type('large', '8', ['on-demand', 1], ['spot', 0.3], ['reserved', 0.00001]),
  type('unpriced', '8', ['on-demand', 999]),
]
const claim = (names?: readonly string[]) => ({
  uid: 'uid',
  requirements: requirements(names ? [{ key: labels.instanceType, operator: 'In', values: [...names] }] : []),
  requests: parseResources({ cpu: '2' }),
})

const bound = ({
  refused = [],
  leftOut = [],
  factor,
  names,
}: {
  refused?: string[]
  leftOut?: string[]
  factor?: number
  names?: string[]
}) => {
  const found = priceBound(types, claim(names), { refused: new Set(refused), leftOut: new Set(leftOut), factor })
  return found && Object.fromEntries([...found.most].map(([key, most]) => [key, Number(most.toFixed(4))]))
}

describe('the most that a fallback may cost', () => {
  it.each<[string, Parameters<typeof bound>[0], Record<string, number> | undefined]>([
    ['nothing bounds it without refusals', {}, undefined],
    ['nothing bounds it after refusals of sizes that it cannot be', { refused: ['tiny'] }, undefined],
    [
      'twice, or 0.2 USD/h more than, the cheapest of the capacity type that fits, refused or not',
      { refused: ['small'] },
      { 'on-demand': 0.3, spot: 0.22 },
    ],
    ['of a dear one, twice', { refused: ['large'], names: ['large'] }, { 'on-demand': 2, spot: 0.5 + 0.1 }],
    [
      'a size that the plan left out counts',
      { refused: ['small'], leftOut: ['small'], names: ['large'] },
      { 'on-demand': 0.3, spot: 0.22 },
    ],
    ['after a lack of capacity, what the NodePool says', { factor: 3 }, { 'on-demand': 0.3, spot: 0.06 }],
    [
      'also from what the plan left out',
      { factor: 3, leftOut: ['small'], names: ['large'] },
      { 'on-demand': 0.3, spot: 0.06 },
    ],
    ['the lower of both', { factor: 2, refused: ['small'] }, { 'on-demand': 0.2, spot: 0.04 }],
    ['no base: nothing is bounded', { factor: 2, names: ['unpriced'] }, {}],
  ])('%s', (_, input, expected) => {
    expect(bound(input)).toEqual(expected)
  })

  it('holds for a price up to it, and never for a reservation', () => {
    const within = { most: new Map([['on-demand', 0.3]]), why: '' }
    expect([0.3, 0.31].map((price) => isWithin(within, offering(['on-demand', price])))).toEqual([true, false])
    expect(isWithin(within, offering(['reserved', 5]))).toBe(true)
    expect(isWithin(within, offering(['on-demand', 999]))).toBe(false)
  })
})
