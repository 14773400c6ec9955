import { expect, it } from 'vitest'
import { bytes, cores } from './format.ts'

it.each([
  [512, '512 B'],
  [1.5 * 1024 ** 3, '1.5 Gi'],
  [200 * 1024 ** 3, '200 Gi'],
  [5000 * 1024 ** 4, '5000 Ti'],
])('writes %d bytes as %s', (amount, text) => {
  expect(bytes(amount)).toBe(text)
})

it('writes cores', () => {
  expect([cores(0.25), cores(3.26), cores(6834.6)]).toEqual(['250m', '3.3', '6,835'])
})
