import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RequirementOperator, RequirementSpec } from '../objects.ts'
import {
  describeAll,
  disjointness,
  incompatibility,
  incompatibilityText,
  isCompatible,
  merge,
  requirements,
  requirementsOfLabels,
  serializeAll,
  sharedKeysIntersect,
} from './requirements.ts'

const keys = ['x.com/a', 'x.com/b', 'kubernetes.io/arch']
const value = fc.constantFrom('1', '2', 'a')
const entry: fc.Arbitrary<RequirementSpec> = fc.oneof(
  fc.record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom<RequirementOperator>('In', 'NotIn'),
    values: fc.uniqueArray(value, { maxLength: 3 }),
  }),
  fc.record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom<RequirementOperator>('Gt', 'Lt', 'Gte', 'Lte'),
    values: fc.tuple(fc.constantFrom('0', '1', '2')),
  }),
  fc.record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom<RequirementOperator>('Exists', 'DoesNotExist'),
  }),
)
const entries = fc.array(entry, { maxLength: 4 })
const allowed = fc.subarray(keys).map((some) => new Set(some))

describe('requirements', () => {
  it('fold entries the same in any order', () => {
    fc.assert(
      fc.property(entries, entries, (a, b) => {
        expect(describeAll(requirements([...a, ...b]))).toBe(describeAll(requirements([...b, ...a])))
        expect(serializeAll(merge(requirements(a), requirements(b).values()))).toEqual(
          serializeAll(requirements([...a, ...b])),
        )
      }),
    )
  })

  it('decide the same with and without a text', () => {
    fc.assert(
      fc.property(entries, entries, allowed, (a, b, undefinedKeys) => {
        const [own, wanted] = [requirements(a), requirements(b)]
        expect(isCompatible(own, wanted, undefinedKeys)).toBe(incompatibility(own, wanted, undefinedKeys) === undefined)
        expect(sharedKeysIntersect(own, wanted)).toBe(disjointness(own, wanted) === undefined)
      }),
    )
  })

  it('are compatible when shared keys intersect and no other key is missing', () => {
    fc.assert(
      fc.property(entries, entries, allowed, (a, b, undefinedKeys) => {
        const [own, wanted] = [requirements(a), requirements(b)]
        if (isCompatible(own, wanted, undefinedKeys)) expect(sharedKeysIntersect(own, wanted)).toBe(true)
        expect(isCompatible(own, wanted, new Set(keys))).toBe(sharedKeysIntersect(own, wanted))
      }),
    )
  })

  it('are met together by labels that meet each', () => {
    const labels = fc.record({ 'x.com/a': value, 'x.com/b': value, 'kubernetes.io/arch': value })
    fc.assert(
      fc.property(entries, entries, labels, (a, b, of) => {
        const node = requirementsOfLabels(of)
        const [first, second] = [requirements(a), requirements(b)]
        const both = merge(first, second.values())
        expect(isCompatible(node, both)).toBe(isCompatible(node, first) && isCompatible(node, second))
      }),
    )
  })

  it('name the first key that is unknown, and what may be meant', () => {
    const own = requirements([{ key: 'x.com/team', operator: 'In', values: ['a'] }])
    const wanted = requirements([
      { key: 'y.com/team', operator: 'Exists' },
      { key: 'z.com/other', operator: 'Exists' },
    ])
    const found = incompatibility(own, wanted)
    expect(found).toEqual({ kind: 'unknown-label', key: 'y.com/team', meant: 'x.com/team' })
    expect(found && incompatibilityText(found)).toBe(
      'label "y.com/team" does not have known values (typo of "x.com/team"?)',
    )
  })

  it('leave the hostname out of their text', () => {
    const sets = requirements([
      { key: 'kubernetes.io/hostname', operator: 'In', values: ['h'] },
      { key: 'x.com/a', operator: 'Exists' },
    ])
    expect(describeAll(sets)).toBe('x.com/a Exists')
  })
})
