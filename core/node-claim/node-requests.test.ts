import { describe, expect, test } from 'vitest'
import {
  askedText,
  forceFinishRefusal,
  holdAskedFor,
  holdRefusal,
  releaseRefusal,
  retryRefusal,
  textsOf,
} from './node-requests.ts'

const now = Date.parse('2026-11-21T12:00:00Z')

describe('an update is refused', () => {
  test.each<[unknown, string]>([
    [{ until: 'tomorrow' }, 'hold: until "tomorrow": not an RFC 3339 time; write it as 2026-12-01T06:00:00Z'],
    [{ until: 7 }, 'hold: until 7: not an RFC 3339 time'],
    [{ until: '2026-11-21T12:00:00Z' }, 'lies in the past (it is 2026-11-21T12:00:00.000Z)'],
    [{ expiry: 'yes' }, 'hold: expiry "yes": not true or false'],
    [{ reason: 7 }, 'hold: reason 7: not a text'],
    [{ by: 'x'.repeat(501) }, 'hold: by: 501 characters, at most 500'],
    [{ untill: 'x' }, 'hold: untill: not a field; use reason, until, by, at, expiry'],
    ['general', 'hold: "general": not an object'],
  ])('hold %j', (request, message) => {
    expect(holdRefusal(request, now)).toContain(message)
  })

  test.each<[unknown, string]>([
    [undefined, 'forceFinish: reason: state why'],
    [{}, 'forceFinish: reason: state why'],
    [{ reason: '  ' }, 'forceFinish: reason: state why'],
    [{ reason: 'a', leaveVm: 'true' }, 'forceFinish: leaveVm "true": not true or false'],
    [{ reason: 'a', leave: true }, 'forceFinish: leave: not a field; use reason, by, at, leaveVm'],
  ])('forceFinish %j', (request, message) => {
    expect(forceFinishRefusal(request)).toContain(message)
  })

  test('retryNow and release', () => {
    expect(retryRefusal({ until: 'x' })).toContain('retryNow: until: not a field; use reason, by')
    expect(releaseRefusal({ reason: 'x' })).toContain('release: reason: not a field; use by')
  })
})

test('valid requests are not refused', () => {
  const asked = [
    holdRefusal({ until: '2026-11-21T12:00:01Z', reason: 'a look', by: 'alice', expiry: false }, now),
    holdRefusal(null, now),
    forceFinishRefusal({ reason: 'case 42', leaveVm: true, by: 'alice' }),
    retryRefusal(undefined),
    releaseRefusal({ by: 'bob' }),
  ]
  expect(asked).toEqual([undefined, undefined, undefined, undefined, undefined])
})

describe('a hold that a signal asks for', () => {
  test.each<[unknown, unknown]>([
    [undefined, { expiry: false }],
    ['general', { expiry: false }],
    [
      { until: '2026-12-01T06:00:00+01:00', reason: 'a look', by: 'alice', expiry: true },
      { untilMs: Date.parse('2026-12-01T05:00:00Z'), reason: 'a look', by: 'alice', expiry: true },
    ],
    [
      { until: 'tomorrow', reason: 'a look' },
      { reason: 'a look; until "tomorrow" is not an RFC 3339 time: no end', expiry: false },
    ],
    [
      { until: 5, reason: 7, expiry: 'yes' },
      { reason: 'until 5 is not an RFC 3339 time: no end', expiry: false },
    ],
  ])('%j', (request, hold) => {
    expect(holdAskedFor(request)).toEqual(hold)
  })
})

test('requester and reason, whatever a payload holds', () => {
  expect(textsOf({ by: 'alice', reason: 'a'.repeat(600) })).toEqual({ by: 'alice', reason: 'a'.repeat(500) })
  expect(textsOf({ by: 7, reason: ' ' })).toEqual({})
  expect(askedText({ by: 'alice', reason: 'case 42' })).toBe(' by alice: case 42')
  expect(askedText({ by: 'alice' })).toBe(' by alice, no reason given')
  expect(askedText({ by: 'alice', reason: 'no reason given' })).toBe(' by alice, no reason given')
  expect(askedText({})).toBe(', no reason given')
})
