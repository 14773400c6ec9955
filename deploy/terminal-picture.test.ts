import { expect, test } from 'vitest'
import { pictureOf } from './terminal-picture.ts'

/** A recording of lines, one a second. */
function cast(...lines: readonly string[]): string {
  const events = lines.map((line, index) => JSON.stringify([index, 'o', `${line}\r\n`]))
  return [JSON.stringify({ version: 2 }), ...events].join('\n')
}

const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>(.*)<\/text>/g)].map(([, text]) => text)

test('every text keeps its spaces, and the picture is as wide as the longest line', () => {
  const long = 'x'.repeat(150)
  const svg = pictureOf(cast('  a   b', long), 'a demo')
  expect(textsOf(svg)).toEqual(['  a   b', long])
  expect(svg.match(/<text[^>]* xml:space="preserve"/g)).toHaveLength(2)
  expect(svg).toContain(`width="${150 * 7.8 + 28}"`)
})

test("the terminal's styles are classes, with colours for light and dark", () => {
  const svg = pictureOf(
    cast('\u001b[2m1 s\u001b[22m  \u001b[32mdone <\u001b[39m, \u001b[4mlink\u001b[24m', 'plain'),
    'a demo',
  )
  expect(textsOf(svg)).toEqual([
    '<tspan class="dim">1 s</tspan>  <tspan class="green">done &lt;</tspan>, <tspan class="underlined">link</tspan>',
    'plain',
  ])
  expect(svg).toContain('prefers-color-scheme:dark')
})

test('a line that comes in parts is one line', () => {
  const parts = [
    [0, 'o', 'one '],
    [0.5, 'o', 'line\r\nanother\r\n'],
  ].map((event) => JSON.stringify(event))
  expect(textsOf(pictureOf(['{}', ...parts].join('\n'), 'a demo'))).toEqual(['one line', 'another'])
})

test('a full window scrolls to its last line, where it rests', () => {
  const svg = pictureOf(cast(...Array.from({ length: 40 }, (_, index) => `line ${index}`)), 'a demo')
  expect(svg).toContain('height="604"')
  expect(svg).toContain(`.screen{transform:translateY(${-8 * 18}px)`)
  expect(svg).toContain(`100%{transform:translateY(${-8 * 18}px)}`)
})
