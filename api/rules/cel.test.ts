import { celEnv, isCelError, parse, plan } from '@bufbuild/cel'
import { describe, expect, it } from 'vitest'
import { celTexts } from '../../deploy/parse-ahead.ts'
import { celCases, celObject } from '../../test/api/cel-cases.ts'
import { type CelResult, CelScope, compileCel } from './cel.ts'

const evaluate = (text: string, variables: Readonly<Record<string, unknown>> = {}): CelResult =>
  compileCel(text).evaluate(new CelScope(variables))

describe('an expression', () => {
  it.each(celCases)('%s is %s, as in the API server', (expression, text) => {
    const result = evaluate(`string(${expression})`, {
      object: celObject,
      oldObject: null,
      request: { operation: 'CREATE' },
    })
    expect(result).toEqual(
      text === undefined ? { kind: 'failed', message: expect.any(String) } : { kind: 'value', value: text },
    )
  })

  it.each([
    ['self', { a: [1, { b: 'c' }], d: 1.5, e: true, f: null }],
    ['self', JSON.parse('{"__proto__": {"x": 1}, "constructor": "c"}')],
  ])('%s of %j is taken as it is', (text, self) => {
    expect(evaluate(text, { self })).toEqual({ kind: 'value', value: self })
  })

  it('treats an undefined field as missing', () => {
    expect(evaluate('has(self.a)', { self: { a: undefined } })).toEqual({ kind: 'value', value: false })
  })

  it.each(['self.missing', "self.text + 'a' == 1", 'self.list.all(x, x.missing == 1)', 'unknown', "'text'", '1'])(
    '%s does not hold',
    (text) => {
      expect(compileCel(text).holds(new CelScope({ self: { list: [{}], text: 'a' } }))).toBe(false)
    },
  )

  it.each(['a ~ b', 'a b', '(a', '', 'a &&'])('"%s" cannot be parsed', (text) => {
    expect(() => compileCel(text)).toThrow(`CEL "${text}": `)
  })

  it.each([
    'self.unknown()',
    'unknown(self)',
    'self.all(x, x.unknown())',
    "'a'.indexOf('b')",
    "[1].map(x, quantity('1'))",
  ])('%s calls a function that is unknown here', (text) => {
    expect(() => compileCel(text)).toThrow(/function "\w+" is unknown; add it to api\/rules\/cel\.ts/)
  })

  it.each(['\\\\s', '.', '(?i)a'])('find("%s") is refused, since JavaScript would match another part', (pattern) => {
    expect(evaluate(`'a'.find('${pattern}')`)).toEqual({ kind: 'failed', message: expect.stringContaining('find(') })
  })

  const searched = [
    '',
    'a',
    'A-z',
    '0',
    'eastus-1',
    '{',
    ' {',
    '\u2003{',
    '\v{',
    'a\nb',
    'a\rb',
    'é',
    '\u{1f600}',
    'a'.repeat(400),
  ]
  it.each([
    ...celTexts().flatMap((text) =>
      [...text.matchAll(/\.matches\('((?:[^'\\]|\\.)*)'\)/g)].map(([, pattern = '']) => pattern),
    ),
    '^[^a]$',
    '^a.b$',
    '(?i)^A$',
    '^(a|)$',
    '^a{2,}$',
    '^\\\\S$',
    '[[:alpha:]]',
    'a{2',
    'a**',
    '(a+)+',
    'b',
    '\\\\x{1f600}',
  ])("matches('%s') is what the library's RE2 says", (pattern) => {
    const text = `self.matches('${pattern}')`
    const inRe2 = plan(celEnv({}), parse(text))
    const found = searched.map((self) => evaluate(text, { self }))
    expect(found).toEqual(
      searched.map((self) => {
        const value = inRe2({ self })
        return isCelError(value) ? { kind: 'failed', message: expect.any(String) } : { kind: 'value', value }
      }),
    )
  })

  it('names its variables', () => {
    expect([...compileCel('self.a == oldSelf.b && self.c.all(x, x > y)').identifiers]).toEqual(
      expect.arrayContaining(['self', 'oldSelf', 'y']),
    )
    expect(compileCel("self == 'oldSelf'").identifiers).toEqual(new Set(['self']))
  })
})

describe('a variable of a policy', () => {
  const scope = new CelScope({ object: { a: 1 } })
  scope.define('one', 'object.a')
  scope.define('two', 'variables.one + 1')
  scope.define('bad', 'object.missing')
  scope.define('worse', 'variables.bad + 1')
  scope.define('itself', 'variables.itself')

  it.each([
    ['variables.two == 2', { kind: 'value', value: true }],
    ['[1].all(x, x == variables.one)', { kind: 'value', value: true }],
    ['variables.bad == 1 || true', { kind: 'value', value: true }],
    ['variables.worse', { kind: 'failed', message: expect.stringContaining('missing') }],
    ['variables.unknown', { kind: 'failed', message: expect.any(String) }],
    ['variables.itself', { kind: 'failed', message: expect.any(String) }],
  ])('%s', (text, expected) => {
    expect(compileCel(text).evaluate(scope)).toEqual(expected)
  })

  it('is not parsed where it filters by keys that no element has', () => {
    const filter = (list: string, rest: string) => {
      const policy = new CelScope({
        self: [
          { key: 'a', n: 1 },
          { key: 'b', n: 2 },
        ],
        odd: [{}],
      })
      policy.define('all', 'self')
      policy.define('odd', 'odd')
      policy.define('found', `variables.${list}.filter(r, r.key in ${rest})`)
      return () => compileCel('variables.found.size() == 0').evaluate(policy)
    }
    expect(filter('all', "['c', 'd'] && ]")()).toEqual({ kind: 'value', value: true })
    expect(filter('all', "['c', 'a'] && ]")).toThrow('CEL')
    expect(filter('all', "['c', 'a'] && r.n == 1")()).toEqual({ kind: 'value', value: false })
    expect(filter('all', "['c', 'd'] && false || r.n == 1")()).toEqual({ kind: 'value', value: false })
    expect(filter('all', "['c'] && false ? false : true")()).toEqual({ kind: 'value', value: false })
    expect(filter('odd', "['c'] && r.n == 1")()).toEqual({ kind: 'failed', message: expect.stringContaining('key') })
    expect(filter('none', "['c'] && r.n == 1")()).toEqual({ kind: 'failed', message: expect.any(String) })
  })
})
