import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readOneYaml, readYaml } from './read.ts'

const values = (source: string) => readYaml(source).map(({ value }) => value)
const problems = (source: string) =>
  readYaml(source).flatMap((document) => document.problems.map(({ line, message }) => `${line}: ${message}`))

describe('the values of YAML', () => {
  test.each([
    ['', []],
    ['# nothing\n', []],
    ['---\n# nothing\n', [null]],
    ['a: 1\n---\nb: [x, 2.5, true, null, ~]\n', [{ a: 1 }, { b: ['x', 2.5, true, null, null] }]],
    ['{"a": {"b": "\\u001b"}}', [{ a: { b: '\u001b' } }]],
    ['a: "\\e[31m"', [{ a: '\u001b[31m' }]],
    ['1: x\ntrue: y\n? null\n: z', [{ '1': 'x', true: 'y', '': 'z' }]],
    ['a: &x {b: 1}\nc: [*x, *x]', [{ a: { b: 1 }, c: [{ b: 1 }, { b: 1 }] }]],
    ['a: &x 1\nb: &x 2\nc: *x', [{ a: 1, b: 2, c: 2 }]],
    ['a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}', [{ a: { b: 1, c: 2 }, d: { c: 3, b: 1 } }]],
    ['a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne: {<<: [*x, *y]}', [{ a: { b: 1 }, c: { b: 2, d: 3 }, e: { b: 1, d: 3 } }]],
    ['"<<": text', [{ '<<': 'text' }]],
    ['%YAML 1.1\n---\na: 2001-01-01\nb: yes', [{ a: '2001-01-01', b: 'yes' }]],
    ['a: !!str 1', [{ a: '1' }]],
  ])('%j', (source, expected) => {
    expect(problems(source)).toEqual([])
    expect(values(source)).toEqual(expected)
  })

  test('names of setters and methods are data', () => {
    const [value] = values('__proto__: {polluted: 1}\nconstructor: 2\ntoString: 3') as [object]
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString'])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    const [merged] = values('a: &a {__proto__: {polluted: 1}}\nb: {<<: *a}') as [{ b: object }]
    expect(Object.keys(merged.b)).toEqual(['__proto__'])
  })

  test('a written value is read back', () => {
    // The key "<<" merges.
    const written = fc.jsonValue({ maxDepth: 5 }).filter((value) => !JSON.stringify(value).includes('"<<"'))
    fc.assert(
      fc.property(written, (value) => {
        expect(values(stringify(value))).toEqual([value])
      }),
    )
  })
})

describe('refused YAML, with its line', () => {
  test.each([
    ['a: 1\na: 2', '2: the key "a" stands there twice; remove one of them'],
    ['a: {b: 1, "b": 2}', '1: the key "b" stands there twice; remove one of them'],
    ['a: &self\n  b: *self', '2: the alias *self stands within its own anchor, so it never ends; remove it'],
    ['a: *later\nb: &later 1', '1: the alias *later has no anchor &later before it; add it'],
    ['? [a]\n: b', '1: a key is a list or a map; write a text'],
    ['a: &l [x]\n? *l\n: b', '2: a key is a list or a map; write a text'],
    ['a: {<<: text}', '1: << merges maps; give the alias of one, or a list of them'],
    ['a: !!js/function x', '1: Unresolved tag: tag:yaml.org,2002:js/function; leave the tag out'],
    ['a:\n  - !!binary aGVsbG8=', '2: Unresolved tag: tag:yaml.org,2002:binary; leave the tag out'],
    ['a: b: c', '1: Nested mappings are not allowed in compact mappings'],
    [
      'a: 1\nb: \u001b[31m',
      '2: the character U+001B is not allowed in YAML; remove it, or write it as an escape in double quotes',
    ],
    [
      'a: \u0000',
      '1: the character U+0000 is not allowed in YAML; remove it, or write it as an escape in double quotes',
    ],
  ])('%j', (source, problem) => {
    expect(problems(source)[0]).toBe(problem)
    expect(readYaml(source).at(-1)?.value).toBeUndefined()
  })

  test('a broken document leaves the others as they are', () => {
    expect(values('a: 1\n---\na: *b\n---\nc: 2')).toEqual([{ a: 1 }, undefined, { c: 2 }])
  })

  test('readOneYaml takes one document', () => {
    expect(readOneYaml('a: 1')).toEqual({ kind: 'value', value: { a: 1 } })
    expect(readOneYaml('')).toEqual({ kind: 'value', value: null })
    expect(readOneYaml('a: 1\n---\nb: 2')).toEqual({
      kind: 'refused',
      message: 'line 3: a second document begins; give one only',
    })
    expect(readOneYaml('\n[')).toMatchObject({ kind: 'refused', message: expect.stringMatching(/^line 2: /) })
  })
})

describe('YAML that would take too much time or memory is refused', () => {
  const bomb = Array.from({ length: 20 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(9)}]`).join('\n')
  test.each([
    ['a bomb of aliases', `a0: &a0 [x]\n${bomb}`, /^\d: aliases repeat more than 1048576 characters/],
    ['a long text repeated', `a: &a ${'x'.repeat(500_000)}\nb:\n${'- *a\n'.repeat(100)}`, /aliases repeat more than/],
    [
      'merges of a large map',
      `a: &a {${Array.from({ length: 3000 }, (_, at) => `k${at}: `).join(',')}}\nb:\n${'- <<: *a\n'.repeat(10_000)}`,
      /aliases repeat more than/,
    ],
    ['lists', '['.repeat(90_000), /nested more than 200 levels/],
    ['maps', '{a: '.repeat(20_000), /nested more than 200 levels/],
    ['block lists', '- '.repeat(500_000), /nested more than 200 levels/],
    ['keys', '? '.repeat(500_000), /nested more than 200 levels/],
    ['values', ': '.repeat(500_000), /nested more than 200 levels/],
    [
      'aliases within aliases',
      `a0: &a0 x\n${Array.from({ length: 5000 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}]\n`).join('')}`,
      /with its aliases it is nested more than 200 levels/,
    ],
    ['documents', '---\n'.repeat(250_000), /more than 10000 documents/],
    ['signs', '-\n'.repeat(500_000), /more keys, values and signs than a manifest/],
    ['errors', '}'.repeat(1_000_000), /too many signs out of place/],
    ['errors within a document', '"'.repeat(1_000_000), /too many signs out of place/],
    [
      'characters',
      `a: ${'x'.repeat(9_000_000)}`,
      /9000003 characters of YAML are more than the 8388608 that are read; split it, or give JSON/,
    ],
  ])('%s', (_, source, expected) => {
    expect(problems(source).at(-1)).toMatch(expected)
  })

  test('200 levels are read, also with aliases', () => {
    expect(problems(`${'['.repeat(199)}${']'.repeat(199)}`)).toEqual([])
    expect(problems(`a: &a ${'['.repeat(100)}${']'.repeat(100)}\nb: ${'['.repeat(90)}*a${']'.repeat(90)}`)).toEqual([])
  })

  test('many different keys are read in time that grows with their number', () => {
    const source = Array.from({ length: 50_000 }, (_, at) => `key-number-${at}: value ${at}`).join('\n')
    expect(Object.keys(values(source)[0] as object)).toHaveLength(50_000)
  })
})

test('long JSON is read as JSON, with lines on demand', () => {
  const list = Array.from({ length: 20_000 }, (_, at) => ({ name: `name-${at}` }))
  const [document, ...more] = readYaml(JSON.stringify({ list }, undefined, 1))
  expect([document?.value, document?.problems, more]).toEqual([{ list }, [], []])
  expect(document?.lineOf(['list', 1, 'name'])).toBe(7)
  expect(readYaml(`${JSON.stringify({ list })}]`).flatMap(({ problems }) => problems)).toEqual([
    { line: 1, message: expect.stringMatching(/^Unexpected non-whitespace character/) as unknown },
  ])
  const deep = readYaml(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  expect(deep.flatMap(({ problems }) => problems)).toEqual([
    { line: 1, message: 'it is nested more than 200 levels deep; flatten it' },
  ])
})

describe('lines', () => {
  const [first, second] = readYaml('# top\n---\na:\n  b:\n  - c: 1\n    d: 2\n---\nx: &x\n  y: 1\nz: *x\n')
  test.each([
    [['a'], 3],
    [['a', 'b', 0], 5],
    [['a', 'b', 0, 'd'], 6],
    [['a', 'b', 0, 'missing', 'more'], 5],
    [['a', 'b', 7], 4],
    [['missing'], 3],
    [[], 3],
  ])('of %j', (path, line) => {
    expect(first?.lineOf(path)).toBe(line)
  })

  test("of an alias' value: that of the alias", () => {
    expect(second?.line).toBe(8)
    expect(second?.lineOf(['z', 'y'])).toBe(10)
  })
})
