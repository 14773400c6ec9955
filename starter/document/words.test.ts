import { expect, it } from 'vitest'
import { plainText } from './text.ts'
import { ago, counted, dollars, few, hoursText, latency, monthly, percent, shortened, Times, usd } from './words.ts'

it.each([
  [0, '0s'],
  [-5, '0s'],
  [999, '1s'],
  [59_400, '59s'],
  [59_600, '1m'],
  [61_000, '1m1s'],
  [599_000, '9m59s'],
  [754_000, '12m'],
  [3_600_000, '1h'],
  [18_600_000, '5h10m'],
  [86_399_000, '23h59m'],
  [187_200_000, '2d4h'],
  [864_000_000, '10d'],
])('%d ms are %s', (ms, text) => {
  expect(ago(ms)).toBe(text)
})

it.each([
  [0, '0s'],
  [40, '0s'],
  [260, '0.3s'],
  [9940, '9.9s'],
  [9999, '10s'],
  [59_600, '1m'],
  [3_725_000, '1h2m'],
])('%d ms that were measured are %s', (ms, text) => {
  expect(latency(ms)).toBe(text)
})

it.each([
  [0, '0.00', '$0.00'],
  [-0.000_000_1, '0.00', '$0.00'],
  [0.001_234, '0.00123', '$0.00123'],
  [0.192, '0.192', '$0.192'],
  [0.5, '0.50', '$0.50'],
  [1.5, '1.50', '$1.50'],
  [-2.345, '-2.35', '-$2.35'],
  [8082.56, '8,082.56', '$8,083'],
])('%d USD are %s and %s', (amount, plain, signed) => {
  expect([usd(amount), dollars(amount)]).toEqual([plain, signed])
})

it('shares have a digit after the point below one percent', () => {
  expect([percent(1, 3), percent(0.004), percent(0.0951), percent(0), percent(1, 0), percent(undefined)]).toEqual([
    '33%',
    '0.4%',
    '10%',
    '0%',
    '-',
    '-',
  ])
})

it('numbers, names and texts of any size are readable', () => {
  expect([counted(1, 'pod'), counted(1200, 'pod'), counted(0, 'launch', 'launches')]).toEqual([
    '1 pod',
    '1,200 pods',
    '0 launches',
  ])
  expect([hoursText(0.004), hoursText(9.5), hoursText(12_345.6), monthly(2.19)]).toEqual([
    '0.00',
    '9.50',
    '12,346',
    '1,598.70',
  ])
  expect([few(['a', 'b'], 2), few(['a', 'b', 'c'], 2), shortened('abcdef', 5)]).toEqual([
    'a, b',
    'a, b and 1 more',
    'ab...',
  ])
})

/** When times are told. */
const now = Date.parse('2026-11-26T12:00:00Z')
const times = (zone = 'UTC') => new Times(now, zone)

it.each([
  ['Ready since 2026-11-26T09:57:00Z: held', 'Ready for 2h3m (since 09:57 UTC): held'],
  ['paused until 2026-11-26T13:44:27.123Z: why', 'paused for 1h44m more (until 13:44 UTC): why'],
  ['it ends at 2026-11-26T12:00:30Z', 'it ends in 30s (12:00 UTC)'],
  ['expired at 2026-11-25T12:00:00Z', 'expired 1d ago (Wed 25 Nov 12:00 UTC)'],
  ['tried again from 2026-11-26T12:05:00Z on', 'tried again in 5m (from 12:05 UTC) on'],
  ['deleted by 2026-11-26T12:05:00Z', 'deleted within 5m (by 12:05 UTC)'],
  ['until 2026-11-26T11:00:00Z', 'until 1h ago (11:00 UTC)'],
  ['2026-11-26T11:59:50Z', '10s ago (11:59 UTC)'],
])('%s is told as %s', (text, told) => {
  expect(times().text(text)).toBe(told)
})

it('in a zone with other clocks both are told, with the day where it is another', () => {
  expect(times('Europe/Berlin').time(now - 3_600_000)).toBe('1h ago (11:00 UTC, 12:00 Berlin)')
  expect(times('America/New_York').time(now - 9 * 3_600_000)).toBe('9h ago (03:00 UTC, Wed 25 Nov 22:00 New York)')
})

it.each([
  'joiner pause --until 2026-12-04T18:00:00Z',
  'kubectl annotate nodeclaim a joiner.sh/hold-until=2026-12-01T06:00:00Z',
  'no RFC 3339 time such as 2026-12-01T06:00:00Z, or as 2026-12-01T06:00:00Z',
  '{"at": "2026-12-01T06:00:00Z"}',
])('a time that is to be typed stays: %s', (text) => {
  expect(times().text(text)).toBe(text)
})

it('lines and cells are told, and columns are as wide as what is shown', () => {
  const document = [[{ header: ['SINCE', 'CAUSE'], rows: [['2026-11-26T11:00:00Z', 'until 2026-11-26T13:00:00Z']] }]]
  const place = { width: Number.POSITIVE_INFINITY, paint: (text: string) => text, times: times() }
  expect(plainText(document, place)).toBe(
    'SINCE               CAUSE\n1h ago (11:00 UTC)  for 1h more (until 13:00 UTC)',
  )
})
