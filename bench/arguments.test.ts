import { expect, it } from 'vitest'
import { cloudNames, count, counts } from './arguments.ts'

it.each<[unknown, () => unknown]>([
  [[5, 100], () => counts('5,100')],
  [7, () => count('7')],
  [['boot'], () => cloudNames('boot')],
  [['instant', 'boot'], () => cloudNames('instant,boot,instant')],
])('%j is what is asked for', (expected, read) => {
  expect(read()).toEqual(expected)
})

it.each<[string, () => unknown]>([
  ['"5,x" is not a list of positive numbers like 5,100.', () => counts('5,x')],
  ['"" is not a list of positive numbers like 5,100.', () => counts('')],
  ['"1,2" is not one positive number.', () => count('1,2')],
  ['"boot,now" is not boot, instant, or both as instant,boot.', () => cloudNames('boot,now')],
])('%s', (message, read) => {
  expect(read).toThrow(message)
})
