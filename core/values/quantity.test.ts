import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addQuantity,
  compareQuantity,
  decimalText,
  formatQuantity,
  parseQuantity,
  quantity,
  quantityValue,
  subtractQuantity,
} from './quantity.ts'

const digits = fc.stringMatching(/^[0-9]{1,7}$/)
const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'e3', 'E-3', 'e+06')
const text = fc
  .tuple(fc.constantFrom('', '+', '-'), digits, fc.option(digits, { nil: undefined }), suffix)
  .map(([sign, whole, fraction, unit]) => `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${unit}`)
const quantities = text.map(quantity)

describe('quantity', () => {
  it('keeps its value through printing and parsing', () => {
    fc.assert(
      fc.property(quantities, (amount) => {
        const printed = formatQuantity(amount)
        expect(quantity(printed).nano).toBe(amount.nano)
        expect(formatQuantity(quantity(printed))).toBe(printed)
        expect(quantity(decimalText(amount)).nano).toBe(amount.nano)
      }),
    )
  })

  it('adds and subtracts as numbers do', () => {
    fc.assert(
      fc.property(quantities, quantities, quantities, (a, b, c) => {
        expect(addQuantity(a, b).nano).toBe(addQuantity(b, a).nano)
        expect(addQuantity(addQuantity(a, b), c).nano).toBe(addQuantity(a, addQuantity(b, c)).nano)
        expect(subtractQuantity(addQuantity(a, b), b).nano).toBe(a.nano)
        expect(compareQuantity(a, b)).toBe(0 - compareQuantity(b, a) + 0)
        expect(compareQuantity(addQuantity(a, c), addQuantity(b, c))).toBe(compareQuantity(a, b))
      }),
    )
  })

  it('rounds away from zero', () => {
    fc.assert(
      fc.property(quantities, (amount) => {
        const units = quantityValue(amount) * 1_000_000_000n
        const size = (value: bigint) => (value < 0n ? -value : value)
        expect(size(units)).toBeGreaterThanOrEqual(size(amount.nano))
        expect(size(units - amount.nano)).toBeLessThan(1_000_000_000n)
      }),
    )
  })

  it.each([
    ['1.500', '1500m'],
    ['0.500', '500m'],
    ['+3Ki', '3Ki'],
    ['+8Ki', '8Ki'],
    ['007', '7'],
    ['1000', '1k'],
    ['1E3', '1e3'],
    ['.', '0'],
    ['-0.0001Ki', '-102400u'],
    ['8Ei', '9223372036854775807'],
  ])('prints %s as %s', (written, canonical) => {
    expect(formatQuantity(quantity(written))).toBe(canonical)
  })

  it.each([
    ['500m', '0.500'],
    ['-1500m', '-1.500'],
    ['2k', '2000'],
    ['1u', '0.000001'],
    ['0', '0'],
  ])('writes %s without a suffix as %s', (written, decimal) => {
    expect(decimalText(quantity(written))).toBe(decimal)
  })

  it('refuses texts too long for a meaningful number', () => {
    const parsed = (text: string) => parseQuantity(text).kind
    expect(parsed('1'.repeat(1000))).toBe('quantity')
    expect(parseQuantity(`${'9'.repeat(1_000_000)}x`)).toEqual({
      kind: 'error',
      message: 'quantities have at most 1000 characters, this one 1000001',
    })
    expect([parsed('1e1000'), parsed('1e1001'), parsed('1e999999999')]).toEqual(['quantity', 'error', 'error'])
  })

  it.each(['', ' 1', '1 ', '1.2.3', '1KI', '１', 'inf', '--1', '1Kii', 'e'])('refuses %j', (written) => {
    expect(parseQuantity(written).kind).toBe('error')
  })
})
