import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { sentCopy } from './json-copy.ts'

test('a body arrives as its JSON says it', () => {
  const leaf = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(undefined, Number.NaN, new Date(0), Symbol.iterator, () => 1),
  )
  const body = fc.oneof(
    leaf,
    fc.array(leaf),
    fc.dictionary(fc.string(), leaf),
    fc.dictionary(fc.string(), fc.array(leaf)),
  )
  fc.assert(
    fc.property(body, (value) => {
      const text = JSON.stringify(value)
      const copy = sentCopy(value)
      expect(copy).toStrictEqual(text === undefined ? undefined : JSON.parse(text))
      if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value)
    }),
  )
})
