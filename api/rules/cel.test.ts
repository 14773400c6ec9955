import { describe, expect, it } from 'vitest'
import { compileCel } from './cel.ts'

const value = (text: string, names: Readonly<Record<string, unknown>> = {}) => compileCel(text).valueOf(names)

describe('an expression', () => {
  it.each<[string, Readonly<Record<string, unknown>>, unknown]>([
    ['1 + 2 == 3', {}, true],
    ['\'a\' + "b" + string(3)', {}, 'ab3'],
    ['[1, 2] + [3]', {}, [1, 2, 3]],
    ["{'a': 1, 'b': [2]}", {}, { a: 1, b: [2] }],
    ['list.filter(x, x > 1).map(x, x + 10)', { list: [1, 2, 3] }, [12, 13]],
    ["list.map(x, x.key).join(', ')", { list: [{ key: 'a' }, { key: 'b' }] }, 'a, b'],
    ["has(self.a) ? self.a : 'none'", { self: {} }, 'none'],
    ["'a' in self && !('b' in self)", { self: { a: 1 } }, true],
    ["'x' in ['x']", {}, true],
    ['self.size() > 2 ? self.substring(0, 2) : self', { self: 'abc' }, 'ab'],
    ["self.split('/').size()", { self: 'a/b' }, 2],
    ["self.find('^([^/]+)')", { self: 'a.b/c' }, 'a.b'],
    ["self.matches('^[A-Z]+$')", { self: 'D' }, true],
    ["self.startsWith('a') && self.endsWith('c')", { self: 'abc' }, true],
    ["int('9223372036854775807') > 0", {}, true],
  ])('%s is %j', (text, names, expected) => {
    expect(value(text, names)).toEqual(expected)
  })

  it.each(['self.missing', "int('x')", "int('9223372036854775808')", "'a' + 1", 'self.list.all(x, x.missing == 1)'])(
    '%s fails, and does not hold',
    (text) => {
      const names = { self: { list: [{}] } }
      expect(() => value(text, names)).toThrow()
      expect(compileCel(text).holds(names)).toBe(false)
    },
  )

  it('is decided by one element, whatever the others are', () => {
    const names = { list: [{}, { a: 1 }] }
    expect(value('list.exists(x, x.a == 1)', names)).toBe(true)
    expect(value('list.all(x, x.a != 1)', names)).toBe(false)
    expect(() => value('list.exists(x, x.a == 2)', names)).toThrow(/no such key/)
    expect(value('self.missing || true', { self: {} })).toBe(true)
  })

  it.each(['a ~ b', 'self.unknown()', 'a b', '(a', 'unknown(a)'])('%s cannot be read', (text) => {
    expect(() => compileCel(text)).toThrow()
  })
})
