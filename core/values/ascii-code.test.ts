import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { asciiCode } from './ascii-code.ts'

test('code in ASCII does what it did: texts, patterns, names, and characters of two units', () => {
  const code = '({ µs: `${1}µs — “a”`, matches: /^(µs|μs)$/u.test("μs"), pair: "😀".codePointAt(0) })'
  const ascii = asciiCode(code)
  expect(ascii).toMatch(/^[\0-\x7f]*$/)
  expect(runInNewContext(ascii)).toEqual({ µs: '1µs — “a”', matches: true, pair: 0x1f600 })
})
