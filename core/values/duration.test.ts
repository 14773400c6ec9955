import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatGoDuration } from '../../test/vectors/go-duration.ts'
import { durationMs, parseGoDuration } from './duration.ts'

const second = 1_000_000_000n

test.each<[string, bigint | undefined]>([
  ['0', 0n],
  ['1h30m', 5400n * second],
  ['1.5s', (3n * second) / 2n],
  ['-10ms', -10_000_000n],
  ['.5h', 1800n * second],
  ['1µs1us', 2000n],
  ['', undefined],
  ['1', undefined],
  ['h', undefined],
  ['1d', undefined],
  ['2562047h47m16.854775807s', (1n << 63n) - 1n],
  ['2562047h47m16.854775808s', undefined],
  // Any number of leading zeros and of decimals beyond a nanosecond changes nothing.
  [`${'0'.repeat(500_000)}1h`, 3600n * second],
  [`0.1${'9'.repeat(500_000)}s`, second / 5n - 1n],
  [`${'9'.repeat(500_000)}h`, undefined],
  ['0h'.repeat(100_000), 0n],
])('%.20s', (text, expected) => {
  expect(parseGoDuration(text)).toBe(expected)
})

test("what is written as Go's text is read as what it was", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(1n << 63n) + 1n, max: (1n << 63n) - 1n }), (nanoseconds) => {
      expect(parseGoDuration(formatGoDuration(nanoseconds))).toBe(nanoseconds)
    }),
  )
})

test('milliseconds of a setting', () => {
  expect([durationMs('1m'), durationMs('Never'), durationMs('soon'), durationMs(undefined)]).toEqual([
    60_000,
    undefined,
    undefined,
    undefined,
  ])
})
