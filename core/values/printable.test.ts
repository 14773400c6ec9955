import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { printable, printableLines, printableStart } from './printable.ts'

const character = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code))
const obeyed = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

describe('printable', () => {
  test.each([
    ['plain-name.example', 'plain-name.example'],
    ['größe ✗ 東京 😀', 'größe ✗ 東京 😀'],
    ['\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
    ['one\ntwo\r\tthree', 'one\\ntwo\\r\\tthree'],
    ['\u0000\u0007\u007f\u009b', '\\u0000\\u0007\\u007f\\u009b'],
    ['user\u202egpj.exe', 'user\\u202egpj.exe'],
    ['zero\u200bwidth\ufeff', 'zero\\u200bwidth\\ufeff'],
    ['line\u2028separator', 'line\\u2028separator'],
    ['half \ud83d', 'half \\ud83d'],
    ['tag \u{e0041}', 'tag \\udb40\\udc41'],
  ])('%j is shown as %s', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  test('no character that controls a terminal is left', () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        expect(obeyed.test(printable(text))).toBe(false)
      }),
    )
  })
})

describe('printableLines', () => {
  test('line feeds and tabs stay, carriage returns do not', () => {
    expect(printableLines('a\tb\nc\r\n\u001b]0;title\u0007')).toBe('a\tb\nc\\u000d\n\\u001b]0;title\\u0007')
  })

  test('JSON means the same', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: character }), (json) => {
        expect(JSON.parse(printableLines(json))).toEqual(JSON.parse(json))
      }),
    )
  })
})

test('printableStart cuts what is too long, and says how long it is', () => {
  expect(printableStart('short', 5)).toBe('short')
  expect(printableStart('\n'.repeat(1000), 3)).toBe('\\n\\n\\n... (1000 characters)')
})
