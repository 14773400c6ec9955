import { describe, expect, test } from 'vitest'
import { labelValueErrors, qualifiedNameErrors, subdomainErrors } from './label-syntax.ts'

const long = (length: number) => 'x'.repeat(length)

describe('a label key', () => {
  test.each(['a', 'example.com/a', 'a.b-c_D9', long(63), `${long(253)}/a`, 'karpenter.sh/nodepool'])('%s', (key) => {
    expect(qualifiedNameErrors(key)).toEqual([])
  })

  test.each<[string, RegExp]>([
    ['', /name part must be non-empty/],
    ['/a', /prefix part must be non-empty/],
    ['example.com/', /name part must be non-empty/],
    ['a/b/c', /a qualified name must consist of/],
    ['-a', /name part must consist of/],
    ['a-', /name part must consist of/],
    ['a b', /name part must consist of/],
    ['a\n', /name part must consist of/],
    [long(64), /name part must be no more than 63 bytes/],
    [`${long(254)}/a`, /prefix part must be no more than 253 bytes/],
    ['Example.com/a', /prefix part a lowercase RFC 1123 subdomain/],
    ['example..com/a', /prefix part a lowercase RFC 1123 subdomain/],
  ])('%j is none', (key, error) => {
    expect(qualifiedNameErrors(key).join()).toMatch(error)
  })
})

describe('a label value', () => {
  test.each(['', 'a', 'A.b_c-9', long(63)])('%j', (value) => {
    expect(labelValueErrors(value)).toEqual([])
  })

  test.each([
    '-a',
    'a-',
    '.',
    'a b',
    'a/b',
    'ä',
    'a\nKUBELET_FLAGS=--static-pod-url=http://evil',
    'a\n',
    long(64),
    `${long(63)}\n`,
  ])('%j is none', (value) => {
    expect(labelValueErrors(value)).not.toEqual([])
  })
})

describe('a name of an object', () => {
  test.each(['a', 'a.b', 'a-b.c9', long(253)])('%s', (name) => {
    expect(subdomainErrors(name)).toEqual([])
  })

  test.each(['', 'A', 'a_b', '-a', 'a-', 'a..b', '.a', '..', 'a/b', 'a\n', long(254)])('%j is none', (name) => {
    expect(subdomainErrors(name)).not.toEqual([])
  })
})
