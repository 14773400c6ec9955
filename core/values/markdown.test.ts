import { expect, test } from 'vitest'
import { markdownCode, markdownText } from './markdown.ts'

test.each([
  ['aks-general-7kq2x', 'aks-general-7kq2x'],
  ['[click](http://x)', '\\[click\\]\\(http://x\\)'],
  ['<img src=x onerror=alert(1)>', '\\<img src=x onerror=alert\\(1\\)\\>'],
  ['**bold** _it_', '\\*\\*bold\\*\\* \\_it\\_'],
  ['a\n# title', 'a\\\\n\\# title'],
  ['a\\*b', 'a\\\\\\*b'],
  ['&lt;', '\\&lt;'],
])('the text %j is %s', (text, expected) => {
  expect(markdownText(text)).toBe(expected)
})

test.each([
  ['joiner why node a', '`joiner why node a`'],
  ['a`b`c', "`a'b'c`"],
  ['', '` `'],
  ['a\nb', '`a\\nb`'],
])('the code %j is %s', (text, expected) => {
  expect(markdownCode(text)).toBe(expected)
})
