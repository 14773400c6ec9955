import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ClockReading, isClockWrong, type KnownTime, offText, readingOf, withReading } from './server-time.ts'

const date = 'Sat, 28 Nov 2026 12:00:00 GMT'
const dateMs = Date.parse(date)
const minute = 60_000
const reading = (offsetMs: number, atMs: number, uncertaintyMs = 500): ClockReading => ({
  offsetMs,
  uncertaintyMs,
  atMs,
})

describe('a reading', () => {
  it.each<[string, string | undefined, number, number, ClockReading | undefined]>([
    ['is that of the middle of the second', date, 1000, 1000, reading(dateMs - 500, 1000)],
    ['is that of the middle of the request', date, 1000, 3000, reading(dateMs - 1500, 3000, 1500)],
    ['is none without a date', undefined, 0, 0, undefined],
    ['is none of a date that is none', 'yesterday', 0, 0, undefined],
    ['is the last one that may be used', date, 0, 9000, reading(dateMs - 4000, 9000, 5000)],
    ['is none after a long request', date, 0, 9001, undefined],
  ])('%s', (_, text, sentMs, answeredMs, expected) => {
    expect(readingOf(text, { sentMs, answeredMs })).toEqual(expected)
  })

  it('is never off by more than it says, so two of the same clock are always equal', () => {
    const request = fc.record({ atMs: fc.nat(4 * minute), thereMs: fc.nat(4000), backMs: fc.nat(4000) })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), request, request, (serverAtZeroMs, ...requests) => {
        const readings = requests.map(({ atMs, thereMs, backMs }) => {
          const made = new Date(serverAtZeroMs + atMs + thereMs).toUTCString()
          return readingOf(made, { sentMs: atMs, answeredMs: atMs + thereMs + backMs })
        })
        for (const one of readings)
          expect(Math.abs((one?.offsetMs ?? 0) - serverAtZeroMs)).toBeLessThanOrEqual(one?.uncertaintyMs ?? 0)
        const known = readings.reduce<KnownTime>((before, one) => (one ? withReading(before, one) : before), {})
        expect(known.believed).toEqual(readings[1])
      }),
    )
  })
})

describe('what is believed', () => {
  it.each<[string, readonly ClockReading[], number | undefined]>([
    ['is nothing at first', [], undefined],
    ['is not a single reading', [reading(0, 0)], undefined],
    ['is what two say that are equal', [reading(0, 0), reading(999, 10)], 999],
    ['is nothing where two differ', [reading(0, 0), reading(1001, 10)], undefined],
    ['is nothing where too long lies between them', [reading(0, 0), reading(0, 5 * minute + 1)], undefined],
    ['is what two say within five minutes', [reading(0, 0), reading(0, 5 * minute)], 0],
    ['does not change with one that differs', [reading(0, 0), reading(0, 10), reading(90_000, 20), reading(0, 30)], 0],
    [
      'does not change with several that differ each from the other',
      [0, 0, 9e6, 5e6].map((ms, at) => reading(ms, at)),
      0,
    ],
    ['is what two new ones say', [0, 0, 90_000, 90_000].map((ms, at) => reading(ms, at)), 90_000],
    ['goes on by any one that agrees, however late', [reading(0, 0), reading(0, 1), reading(300, 60 * minute)], 300],
  ])('%s', (_, readings, offsetMs) => {
    expect(readings.reduce<KnownTime>(withReading, {}).believed?.offsetMs).toBe(offsetMs)
  })
})

it.each([
  [0, 500, false, false],
  [60_500, 500, false, false],
  [60_501, 500, false, true],
  [-60_501, 500, false, true],
  [365 * 86_400_000, 5000, false, true],
  // What was wrong is right only where that is certain.
  [60_000, 500, true, true],
  [-59_501, 500, true, true],
  [59_500, 500, true, false],
  [0, 5000, true, false],
])(
  'a clock that is off by %i ms, give or take %i, and was wrong: %s, is wrong: %s',
  (offMs, uncertaintyMs, was, is) => {
    expect(isClockWrong({ offMs, uncertaintyMs }, was)).toBe(is)
  },
)

it.each([
  [400_000, "400 s ahead of the API server's"],
  [-61_400, "61 s behind the API server's"],
  [2 * 3_600_000 + 90_000, "2 h 1 min ahead of the API server's"],
  [-31 * 86_400_000, "31 d 0 h behind the API server's"],
  [365 * 86_400_000 + 7_200_000, "365 d 2 h ahead of the API server's"],
])('%i ms are %s', (offMs, text) => {
  expect(offText(offMs)).toBe(text)
})
