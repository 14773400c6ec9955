import { expect, test } from 'vitest'
import { html, htmlPage, htmlTable } from './html.ts'

test('what fills a template is escaped, and HTML stays what it is', () => {
  const name = `<b onclick='x'>"&"</b>`
  const inner = html`<i>${name}</i>`
  expect(inner.text).toBe('<i>&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/b&gt;</i>')
  expect(html`<p>${inner}${[inner, inner]}${7}</p>`.text).toBe(`<p>${inner.text}${inner.text}${inner.text}7</p>`)
})

test('characters that a reader does not see are shown', () => {
  expect(html`${'a\u202eb\u0000'}`.text).toBe('a\\u202eb\\u0000')
})

test('a table has numbers on the right, and escapes its cells', () => {
  const { text } = htmlTable(['Name', { number: 'Price' }], [['<a>', '1.00']])
  expect(text).toContain('<th scope="col" class="number">Price</th>')
  expect(text).toContain('<tr><td>&lt;a&gt;</td><td class="number">1.00</td></tr>')
})

test('a page runs nothing and asks nobody', () => {
  const page = htmlPage('</title><script>', html`<p>body</p>`)
  expect(page).toContain("default-src 'none'".replaceAll("'", '&#39;'))
  expect(page).toContain('<title>&lt;/title&gt;&lt;script&gt;</title>')
  expect(page).not.toMatch(/<script|<link|<img|src=|href=|url\(/)
})
