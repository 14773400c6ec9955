import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Taint, Toleration } from './objects.ts'
import { isEphemeralTaint, mergeTaints, sameTaint, tolerates, untolerated } from './taints.ts'

const key = fc.constantFrom('a', 'b')
const value = fc.constantFrom('', '1', '5', 'x')
const effect = fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute')
const taint: fc.Arbitrary<Taint> = fc.record({ key, value, effect })
const taints = fc.array(taint, { maxLength: 4 })
const toleration: fc.Arbitrary<Toleration> = fc.record(
  { key, value, effect, operator: fc.constantFrom('Exists', 'Equal', 'Lt', 'Gt') },
  { requiredKeys: [] },
)
const tolerations = fc.array(toleration, { maxLength: 4 })

describe('taints', () => {
  it('are all tolerated by a toleration that names nothing and asks for existence', () => {
    fc.assert(fc.property(taint, (one) => tolerates({ operator: 'Exists' }, one)))
  })

  it('are tolerated by the toleration that repeats them', () => {
    fc.assert(fc.property(taint, (one) => tolerates({ ...one, operator: 'Equal' }, one)))
  })

  it('are tolerated by more with more tolerations, each taint by itself', () => {
    fc.assert(
      fc.property(taints, tolerations, tolerations, (on, some, more) => {
        const left = untolerated(on, some)
        expect(untolerated(on, [...some, ...more])).toEqual(untolerated(left, more))
      }),
    )
  })

  it('are tolerated by a wider toleration wherever by a narrower one', () => {
    fc.assert(
      fc.property(taint, toleration, (one, narrow) => {
        const { effect: _, ...wide } = narrow
        if (tolerates(narrow, one)) expect(tolerates(wide, one)).toBe(true)
        if (tolerates(narrow, one)) expect(tolerates({ ...narrow, operator: 'Exists' }, one)).toBe(true)
      }),
    )
  })

  it('merge by key and effect', () => {
    fc.assert(
      fc.property(taints, taints, (first, second) => {
        const merged = mergeTaints(first, second)
        expect(merged.slice(0, first.length)).toEqual(first)
        expect(second.every((one) => merged.some((other) => sameTaint(one, other)))).toBe(true)
        expect(mergeTaints(merged, second)).toEqual(merged)
      }),
    )
  })

  it.each([
    ['Gt', '5', '3', true],
    ['Gt', '3', '5', false],
    ['Lt', '3', '5', true],
    ['Lt', '5', '5', false],
    ['Gt', '05', '3', false],
    ['Gt', '5', 'x', false],
    ['Gt', '9223372036854775808', '3', false],
  ] as const)('compare %s: taint %s, toleration %s: %s', (operator, own, wanted, expected) => {
    const one: Taint = { key: 'size', value: own, effect: 'NoSchedule' }
    expect(tolerates({ key: 'size', operator, value: wanted }, one)).toBe(expected)
  })

  it('are not tolerated through an unknown operator', () => {
    const odd = { key: 'a', operator: 'Unknown', value: '1' } as unknown as Toleration
    expect(tolerates(odd, { key: 'a', value: '1', effect: 'NoSchedule' })).toBe(false)
  })

  it('vanish while a node starts, whatever their value', () => {
    const uninitialized = 'node.cloudprovider.kubernetes.io/uninitialized'
    expect(isEphemeralTaint({ key: uninitialized, value: 'true', effect: 'NoSchedule' })).toBe(true)
    expect(isEphemeralTaint({ key: uninitialized, effect: 'NoExecute' })).toBe(false)
    expect(isEphemeralTaint({ key: 'readiness.k8s.io/any', effect: 'NoExecute' })).toBe(true)
  })
})
