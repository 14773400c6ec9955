// The English of the pages, by the table of docs/wording.md.
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (page: string) => readFileSync(`${root}/${page}`, 'utf8')
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/{,adr/}*.md', { cwd: root })].filter(
  (page) => page !== 'docs/wording.md',
)

/** Words of the first column of the table. */
function discouraged(guide: string): readonly string[] {
  const rows = guide.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).flatMap((row) => (row.split('|')[1] ?? '').split(',').map((word) => word.trim()))
}

/** Where words stand in a page, outside of code and of the targets of links. */
function found(markdown: string, words: readonly string[]): readonly string[] {
  const prose = markdown
    .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
    .replaceAll(/`[^`\n]*`/g, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
  const word = new RegExp(`\\b(?:${words.join('|')})\\b`, 'gi')
  return [...prose.matchAll(word)].map(({ index }) => prose.slice(Math.max(0, index - 30), index + 30))
}

test('pages have at most two discouraged words in 1,000 lines', () => {
  const words = discouraged(read('docs/wording.md'))
  expect(words).toContain('look at')
  const all = pages.flatMap((page) => found(read(page), words).map((place) => `${page}: ${place}`))
  const lines = pages.reduce((sum, page) => sum + read(page).split('\n').length, 0)
  expect(all.length / (lines / 1000), all.join('\n')).toBeLessThanOrEqual(2)
})

test('words in code and in addresses do not count', () => {
  const words = ['life']
  expect(found('Its `life`, [a](life.md).\n\n```\nlife\n```\n', words)).toEqual([])
  expect(found('The life of a node. Lifecycle.', words)).toEqual(['The life of a node. Lifecycle.'])
})
