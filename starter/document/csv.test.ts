import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvText } from './csv.ts'

test.each([
  ['plain', 'plain'],
  ['with, comma', '"with, comma"'],
  ['a "quote"', '"a ""quote"""'],
  ['=HYPERLINK("http://x")', `"'=HYPERLINK(""http://x"")"`],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['  =1', "'  =1"],
  ['\t=1', '\\t=1'],
  ['line\nbreak', 'line\\nbreak'],
  ['\u001b[2J', '\\u001b[2J'],
])('the text %j becomes %s', (text, cell) => {
  expect(csvText({ header: ['a'], rows: [[text]] })).toBe(`a\n${cell}`)
})

test('numbers stay numbers, also negative ones, and what is absent is empty', () => {
  expect(csvText({ header: ['a', 'b', 'c'], rows: [[-1.5, undefined, 0]] })).toBe('a,b,c\n-1.5,,0')
})

test('no text makes another row or another column', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      const [, ...rows] = csvText({ header: ['a', 'b'], rows: [[a, b]] }).split('\n')
      expect(rows).toHaveLength(1)
      expect(rows[0]?.replaceAll(/"(?:[^"]|"")*"/g, 'x').split(',')).toHaveLength(2)
    }),
  )
})
