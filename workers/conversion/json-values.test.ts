import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasMoreValues } from './review.ts'

/** As many as there are marks outside of texts, and one. */
function valuesIn(json: string): number {
  return 1 + json.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '').replaceAll(/[^{[,:]/g, '').length
}

describe('the values of a JSON text', () => {
  it.each([
    ['1', 1],
    ['{}', 2],
    ['[{},{},{}]', 7],
    ['{"a":{"b":[1,2]}}', 7],
    ['"{[,:"', 1],
    ['"a\\"{[,:"', 1],
    ['{"\\\\":","}', 3],
  ])('%s are %d', (json, count) => {
    expect(valuesIn(json)).toBe(count)
    expect([hasMoreValues(Buffer.from(json), count - 1), hasMoreValues(Buffer.from(json), count)]).toEqual([
      true,
      false,
    ])
  })

  it('are counted as marks outside of texts, in any JSON', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const count = valuesIn(json)
        expect(hasMoreValues(Buffer.from(json), count)).toBe(false)
        expect(hasMoreValues(Buffer.from(json), count - 1)).toBe(true)
      }),
    )
  })

  it('end with the text, whatever it is', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(hasMoreValues(bytes, bytes.length + 1)).toBe(false)
      }),
    )
  })
})
