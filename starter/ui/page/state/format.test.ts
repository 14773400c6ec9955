import { expect, it } from 'vitest'
import { bytes, cores, counted, duration, percent, shortened, usd } from './format.ts'

it.each([
  [0, '$0.00'],
  [0.001234, '$0.00123'],
  [0.192, '$0.192'],
  [1.5, '$1.50'],
  [-2.345, '−$2.35'],
  [8082.56, '$8,083'],
])('writes %d USD as %s', (amount, text) => {
  expect(usd(amount)).toBe(text)
})

it.each([
  [999, '0 s'],
  [35_000, '35 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h'],
  [187_200_000, '2 d 4 h'],
])('writes %d ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

it.each([
  [512, '512 B'],
  [1.5 * 1024 ** 3, '1.5 Gi'],
  [200 * 1024 ** 3, '200 Gi'],
  [5000 * 1024 ** 4, '5000 Ti'],
])('writes %d bytes as %s', (amount, text) => {
  expect(bytes(amount)).toBe(text)
})

it('writes shares, cores and counts', () => {
  expect([percent(1, 3), percent(1, 0), cores(0.25), cores(3.26), cores(6834.6)]).toEqual([
    '33 %',
    '–',
    '250m',
    '3.3',
    '6,835',
  ])
  expect([counted(1, 'node'), counted(2000, 'pod')]).toEqual(['1 node', '2,000 pods'])
  expect([shortened('abc', 3), shortened('abcd', 3)]).toEqual(['abc', 'ab…'])
})
