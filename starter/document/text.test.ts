import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { printable } from '../../core/values/printable.ts'
import type { Document } from './document.ts'
import { htmlOf } from './html.ts'
import { markdownOf } from './markdown.ts'
import { anywhere, plainText } from './text.ts'

const table = {
  header: ['NODE', 'TYPE', 'WAITS FOR'],
  drop: ['TYPE'],
  rows: [['aks-general-7kq2x', 'Standard_D8as_v5', 'a PodDisruptionBudget that allows no eviction']],
}
const within = (width: number) => plainText([[table]], { ...anywhere, width }).split('\n')

describe('a table', () => {
  it('has columns as wide as their widest cell where there is room', () => {
    expect(within(Number.POSITIVE_INFINITY)).toEqual([
      'NODE               TYPE              WAITS FOR',
      'aks-general-7kq2x  Standard_D8as_v5  a PodDisruptionBudget that allows no eviction',
    ])
  })

  it('has its widest columns cut where the terminal is a little too narrow', () => {
    expect(within(77)[1]).toBe('aks-general-7kq2x  Standard_D8as_v5  a PodDisruptionBudget that allows no ev…')
  })

  it('leaves out what matters least before the cause is cut to pieces', () => {
    expect(within(70)).toEqual([
      'NODE               WAITS FOR',
      'aks-general-7kq2x  a PodDisruptionBudget that allows no eviction',
    ])
  })

  it('has no line longer than the terminal while a column has eight characters, and never cuts short cells', () => {
    const cell = fc.string({ maxLength: 40, unit: 'grapheme-ascii' }).map((text) => text.replaceAll(/[^!-~]/g, 'x'))
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1 }),
        fc.integer({ min: 28, max: 140 }),
        (rows, width) => {
          const lines = plainText([[{ rows }]], { ...anywhere, width }).split('\n')
          expect(lines).toHaveLength(rows.length)
          for (const line of lines) expect(line.length).toBeLessThanOrEqual(width)
          for (const [at, [first]] of rows.entries())
            if (first.length <= 8) expect(lines[at]?.startsWith(first)).toBe(true)
        },
      ),
    )
  })
})

const document: Document = [
  [{ heading: 'Nodes', isOfAll: true }, undefined, ['of ', { foreign: '<b>' }]],
  [{ title: 'nothing', items: [] }],
  [{ title: 'remedies:', items: ['first', { title: 'second:', items: ['inner'] }, { rows: [['a', 1, undefined]] }] }],
  [{ heading: 'Shares' }, { header: ['WHAT', 'SHARE'], rows: [['x', { share: 0.5 }]] }],
  [{ title: 'NodePool a', code: 'kind: NodePool\nspec: {}' }],
]

it('a document is text: a title stands over what belongs to it, and over nothing it is left out', () => {
  expect(plainText(document)).toBe(`Nodes
of <b>

remedies:
  first
  second:
    inner
  a  1  -

Shares:
WHAT  SHARE
x     50%

  NodePool a
  kind: NodePool
  spec: {}`)
})

it('a document is Markdown and a page', () => {
  expect(markdownOf(document)).toContain('# Nodes\n\nof `<b>`\n\nremedies:\n\n- first\n- second:\n  - inner')
  const page = htmlOf(document)
  expect(page).toContain('<title>Nodes</title>')
  expect(page).toContain('<h1>Nodes</h1>\n<p>of <code>&lt;b&gt;</code></p>')
  expect(page).toContain('<td><meter value="0.5"></meter>50%</td>')
  expect(page).toContain('<pre>kind: NodePool\nspec: {}</pre>')
  expect(page).not.toMatch(/<script|<link|<img|src=|href=|url\(/)
})

it('no text moves the cursor, makes a line of its own, or is markup, wherever it stands', () => {
  const hostile = fc.string({ unit: 'binary', minLength: 1 })
  fc.assert(
    fc.property(hostile, (text) => {
      const all: Document = [
        [{ heading: text }, text, [{ foreign: text }, { text, style: 'bold' }]],
        [
          { title: text, items: [text] },
          { header: [text], rows: [[text], [{ foreign: text }]] },
        ],
      ]
      const lines = plainText(all).split('\n')
      expect(lines).toHaveLength(9)
      for (const line of lines) expect(line).toBe(printable(line))
      for (const shown of [markdownOf(all), htmlOf(all)])
        for (const line of shown.split('\n')) expect(line).toBe(printable(line))
      const tags = [...htmlOf([[text, { rows: [[text]] }]]).matchAll(/<[^>]*>/g)].map(([tag]) => tag)
      const ours = [...htmlOf([['x', { rows: [['x']] }]]).matchAll(/<[^>]*>/g)].map(([tag]) => tag)
      expect(tags).toEqual(ours)
    }),
  )
})
