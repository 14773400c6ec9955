import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RequirementOperator } from '../objects.ts'
import {
  allows,
  anyValue,
  describe as describeSet,
  intersect,
  intersects,
  operatorOf,
  type Requirement,
  requirement,
  serialize,
} from './requirement.ts'

const key = 'example.com/size'
const value = fc.constantFrom('a', 'b', '1', '5', '7', '007', '-3', '')
const minValues = fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined })

const ofValues = fc.record({
  operator: fc.constantFrom<RequirementOperator>('In', 'NotIn'),
  values: fc.uniqueArray(value, { maxLength: 4 }),
})
const ofNothing = fc.record({
  operator: fc.constantFrom<RequirementOperator>('Exists', 'DoesNotExist'),
  values: fc.constant([]),
})
const ofBound = fc.record({
  operator: fc.constantFrom<RequirementOperator>('Gt', 'Lt', 'Gte', 'Lte'),
  values: fc.tuple(fc.integer({ min: -4, max: 9 }).map(String)),
})
const single = fc
  .tuple(fc.oneof(ofValues, ofNothing, ofBound), minValues)
  .map(([entry, min]) => requirement({ key, ...entry, ...(min === undefined ? {} : { minValues: min }) }))
/** Includes sets that no single entry can express, such as an interval with exclusions. */
const sets = fc.array(single, { minLength: 1, maxLength: 3 }).map((parts) => parts.reduce(intersect))

const law = (predicate: (a: Requirement, b: Requirement, c: Requirement, probe: string) => void) =>
  fc.assert(fc.property(sets, sets, sets, value, predicate), { numRuns: 500 })

describe('requirement', () => {
  it('intersects commutatively, associatively and idempotently', () => {
    law((a, b, c) => {
      expect(intersect(a, b)).toEqual(intersect(b, a))
      expect(intersect(intersect(a, b), c)).toEqual(intersect(a, intersect(b, c)))
      expect(intersect(a, a)).toEqual(a)
    })
  })

  it('allows in an intersection what both allow', () => {
    law((a, b, _, probe) => {
      expect(allows(intersect(a, b), probe)).toBe(allows(a, probe) && allows(b, probe))
    })
  })

  it('knows whether an intersection has members', () => {
    law((a, b, _, probe) => {
      const { complement, values } = intersect(a, b)
      expect(intersects(a, b)).toBe(complement || values.size > 0)
      if (allows(a, probe) && allows(b, probe)) expect(intersects(a, b)).toBe(true)
    })
  })

  it('is what it is written as, but for exclusions within bounds', () => {
    law((a) => {
      const bounded = a.gte !== undefined || a.lte !== undefined
      const read = serialize(a).map(requirement).reduce(intersect)
      expect(read).toEqual(bounded ? { ...a, values: new Set() } : a)
    })
  })

  it('names a member of its own', () => {
    law((a) => {
      const member = anyValue(a)
      if (member !== '') expect(allows(a, member)).toBe(true)
    })
  })

  it.each([
    [{ operator: 'In', values: ['b', 'a'] }, 'In', 'example.com/size In [a b]'],
    [{ operator: 'In', values: [] }, 'DoesNotExist', 'example.com/size DoesNotExist'],
    [{ operator: 'NotIn', values: ['a'], minValues: 2 }, 'NotIn', 'example.com/size NotIn [a] minValues 2'],
    [{ operator: 'Gt', values: ['4'] }, 'Exists', 'example.com/size Exists >=5'],
    [{ operator: 'Lt', values: ['4'] }, 'Exists', 'example.com/size Exists <=3'],
    [
      { operator: 'Gt', values: ['9223372036854775807'], minValues: 3 },
      'DoesNotExist',
      'example.com/size DoesNotExist',
    ],
    [{ operator: 'Gte', values: ['9223372036854775808'] }, 'Exists', 'example.com/size Exists >=9223372036854775807'],
    [{ operator: 'Lte', values: ['many'] }, 'Exists', 'example.com/size Exists <=0'],
  ] as const)('reads %j', (entry, operator, text) => {
    const set = requirement({ key, ...entry })
    expect(operatorOf(set)).toBe(operator)
    expect(describeSet(set)).toBe(text)
  })

  it('takes the stable name of a key', () => {
    expect(requirement({ key: 'beta.kubernetes.io/arch', operator: 'Exists' }).key).toBe('kubernetes.io/arch')
    expect(requirement({ key: 'constructor', operator: 'Exists' }).key).toBe('constructor')
  })

  it('counts no number beyond 64 bits as a member of an interval', () => {
    const set = requirement({ key, operator: 'Gte', values: ['5'] })
    expect(['9223372036854775807', '9223372036854775808', '+5', ' 5', '5.0'].map((one) => allows(set, one))).toEqual([
      true,
      false,
      true,
      false,
      false,
    ])
  })
})
