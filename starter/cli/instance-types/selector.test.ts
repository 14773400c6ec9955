import { describe, expect, it } from 'vitest'
import { parseSelector } from './selector.ts'

const key = 'karpenter.azure.com/sku-cpu'

describe('a selector', () => {
  it.each([
    [`${key} in (4, 8)`, 'In', ['4', '8']],
    [`${key} IN(4)`, 'In', ['4']],
    [`${key} notin (4,8)`, 'NotIn', ['4', '8']],
    [`${key}=4`, 'In', ['4']],
    [`${key} == 4`, 'In', ['4']],
    [`${key}!=4`, 'NotIn', ['4']],
    [`${key} != 4`, 'NotIn', ['4']],
    [key, 'Exists', []],
    [`${key} exists`, 'Exists', []],
    [`!${key}`, 'DoesNotExist', []],
    [`${key} !exists`, 'DoesNotExist', []],
    [`${key} > 4`, 'Gt', ['4']],
    [`${key}<4`, 'Lt', ['4']],
    [`${key} >= 4`, 'Gte', ['4']],
    [`${key}<=4`, 'Lte', ['4']],
    [`${key} gt 4`, 'Gt', ['4']],
    [`${key} lte 4`, 'Lte', ['4']],
  ])('%s', (text, operator, values) => {
    expect(parseSelector(text)).toEqual([{ key, operator, values }])
  })

  it('has several terms, and commas within parentheses part none', () => {
    expect(parseSelector(' a in (x,y) ,!b,c=1, ').map((term) => `${term.key} ${term.operator}`)).toEqual([
      'a In',
      'b DoesNotExist',
      'c In',
    ])
  })

  it.each([
    ['', 'are empty'],
    ['a b c', 'is not understood'],
    ['a in x', 'is not understood'],
    ['a in (x', 'is not understood'],
    ['a/b/c in (x)', '"a/b/c" is not a label'],
    ['a in (x y)', '"x y" is not a value'],
    ['a > four', '"four" is not a whole number'],
    ['a >', '"" is not a whole number'],
  ])('"%s" is refused', (text, message) => {
    expect(() => parseSelector(text)).toThrow(message)
  })
})
