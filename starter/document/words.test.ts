import { expect, it } from 'vitest'
import { ago, counted, dollars, few, hoursText, latency, monthly, percent, shortened, usd } from './words.ts'

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
