import { describe, expect, test } from 'vitest'
import { type Case, caseOf } from './cases.ts'
import { fieldCaseOf } from './fields.ts'
import { fuzz } from './fuzz.ts'
import { failureOf } from './judge.ts'
import { folderOf, runProcess } from './processes.ts'

const seed = 20_261_122

describe('files changed at random', () => {
  // Ten thousand of them: npm run fuzz-cli.
  test('100 of them: each ends, with a word of what is wrong, and prints no stack trace and no control character', async () => {
    const { cases, failures, commands } = await fuzz({ caseOf: (index) => caseOf(seed, index), count: 100 })
    expect(failures.map(({ one, message }) => `${one.index}: ${one.words.join(' ')}: ${message}`)).toEqual([])
    expect(cases).toBe(100)
    // Enough of them are still taken for what they were, and looked at in earnest.
    for (const name of ['validate', 'convert', 'simulate'])
      expect(commands[name]?.codes['0'] ?? 0, name).toBeGreaterThan(5)
  }, 120_000)

  // All fields of all objects: npm run fuzz-cli -- --fields.
  test('fields of a NodePool that are left out, null or of another type: each is accepted or refused', async () => {
    const { failures } = await fuzz({ caseOf: fieldCaseOf, count: 100 })
    expect(failures.map(({ one, message }) => `${one.index}: ${message}`)).toEqual([])
  }, 120_000)

  test('a process ends as the thread does', async () => {
    for (const index of [0, 1, 2]) {
      const one = caseOf(seed, index)
      const { code, out, err, milliseconds, peakMiB } = await runProcess(one, folderOf(seed, one))
      expect(failureOf(one, { kind: 'ran', code, out, err, milliseconds })).toBeUndefined()
      expect(peakMiB).toBeGreaterThan(20)
      expect(peakMiB).toBeLessThan(512)
    }
  }, 60_000)

  test('a seed and a number give the same file each time, and others give others', () => {
    const bytes = (index: number) => Buffer.from(caseOf(seed, index).files[0]?.bytes ?? []).toString('latin1')
    const some = Array.from({ length: 20 }, (_, index) => bytes(index))
    expect(some).toEqual(Array.from({ length: 20 }, (_, index) => bytes(index)))
    expect(new Set(some).size).toBe(20)
  })
})

describe('the judge', () => {
  const one: Case = { index: 0, words: ['validate', '--output', 'json', 'x'], files: [] }
  const fine = { kind: 'ran', code: 0, out: '[]', err: '', milliseconds: 10 } as const

  test.each([
    [{}, undefined],
    [{ code: 2, err: 'x: cannot be read' }, undefined],
    [{ err: 'TypeError: x\n    at run (file:///a.ts:1:2)' }, 'printed a stack trace'],
    [{ err: 'Error\n    at async Promise.all (index 0)\n    at <anonymous>' }, 'printed a stack trace'],
    [{ code: 70, err: 'bug' }, 'ended with 70: bug'],
    [{ code: 1, out: '' }, 'ended with 1 and said nothing'],
    [{ err: 'a\u001b[31m' }, 'printed the character U+1b'],
    [{ out: '["\u202e"]' }, 'printed the character U+202e'],
    [{ out: 'x: valid' }, 'printed what is no JSON: Unexpected token \'x\', "x: valid" is not valid JSON'],
  ])('%j: %s', (change, expected) => {
    expect(failureOf(one, { ...fine, ...change })).toBe(expected)
  })

  test('what convert prints is YAML', () => {
    const convert = { ...one, words: ['convert', 'x'] }
    expect(failureOf(convert, { ...fine, out: 'a: 1\n---\nb: 2\n' })).toBeUndefined()
    expect(failureOf(convert, { ...fine, out: 'a: 1\na: 2\n' })).toMatch(/^printed what is no YAML: line 2/)
  })

  test('what does not end by itself is a failure', () => {
    expect(failureOf(one, { kind: 'died', message: 'odd' })).toBe('the thread died: odd')
    expect(failureOf(one, { kind: 'hung' })).toBe('did not end')
    expect(failureOf(one, { kind: 'large' })).toBe('needed too much memory')
  })
})
