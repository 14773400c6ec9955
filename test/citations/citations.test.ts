import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { anchorsOf, headingNumbers, linksIn, pathsIn, referencesIn } from './citations.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const own = ['test/citations/citations.test.ts', 'test/citations/citations.ts']
const passedOver = /(^|\/)(node_modules|build|\.git)(\/|$)/
const texts: readonly (readonly [path: string, text: string])[] = globSync('**/*.{ts,mjs,md,go,yaml,tpl,txt}', {
  cwd: root,
  exclude: (path) => passedOver.test(path),
})
  .filter((path) => !own.includes(path))
  .map((path) => [path, readFileSync(join(root, path), 'utf8')])

const folder = join(root, 'docs/reference/')
const pages = new Map(
  globSync('*.md', { cwd: folder }).map((name) => [name, headingNumbers(readFileSync(join(folder, name), 'utf8'))]),
)

describe('citations', () => {
  it('of the reference name a page that there is, and a section of it', () => {
    const all = texts.flatMap(([path, text]) => referencesIn(text).map((citation) => ({ path, ...citation })))
    const dangling = all.filter(({ page, section }) => {
      const headings = pages.get(page)
      return headings === undefined || (section !== undefined && !headings.has(section))
    })
    expect(dangling).toEqual([])
    expect(all.length).toBeGreaterThan(250)
    console.log(`${all.length} citations of ${pages.size} pages resolve`)
  })

  it('in code say which section is meant, where the page has numbered ones', () => {
    const code = texts.filter(([path]) => path.endsWith('.ts'))
    const vague = code.flatMap(([path, text]) =>
      referencesIn(text).flatMap(({ page, section }) =>
        section === undefined && pages.get(page)?.size !== 0 ? [`${path}: ${page}`] : [],
      ),
    )
    expect(vague).toEqual([])
  })

  it('in code have one form: reference/PAGE.md SECTION', () => {
    const names = [...pages.keys()].filter((name) => name !== 'README.md').map((name) => name.replaceAll('.', '\\.'))
    const other = new RegExp(`(?<!(?:reference|docs)/)(?<!\\w)(?:${names.join('|')})(?!\\w)`, 'g')
    const found = texts
      .filter(([path]) => !path.endsWith('.md'))
      .flatMap(([path, text]) =>
        [...text.matchAll(other)].map(({ index }) => `${path}: ${text.slice(Math.max(0, index - 30), index + 40)}`),
      )
    expect(found).toEqual([])
  })

  it('of decisions are in their index, each once, by its title', () => {
    const of = (name: string) => readFileSync(join(root, 'docs/adr', name), 'utf8')
    const titles = globSync('[0-9]*.md', { cwd: join(root, 'docs/adr') })
      .sort()
      .map((name) => `- [${/^# (.*)$/m.exec(of(name))?.[1]}](${name})`)
    expect([...of('README.md').matchAll(/^- .*$/gm)].map(([line]) => line).sort()).toEqual(titles.sort())
  })

  it('of other pages and of decisions name what there is', () => {
    const decisions = new Set(globSync('docs/adr/*.md', { cwd: root }).map((path) => Number(/\d{4}/.exec(path)?.[0])))
    const isThere = (page: string, heading: string | undefined) =>
      existsSync(join(root, page)) &&
      (heading === undefined || readFileSync(join(root, page), 'utf8').includes(`\n## ${heading}\n`))
    const dangling = texts.flatMap(([path, text]) => [
      ...[...text.matchAll(/\b(docs\/[\w./-]+\.md)(?: "([^"]+)")?/g)].flatMap(([whole, page = '', heading]) =>
        isThere(page, heading) ? [] : [`${path}: ${whole}`],
      ),
      ...[...text.matchAll(/\bdesign(?:\.md| invariant)\b/g)].map(([whole]) => `${path}: ${whole}`),
      ...[...text.matchAll(/\bADR (\d+)\b/g)].flatMap(([name, number]) =>
        decisions.has(Number(number)) ? [] : [`${path}: ${name}`],
      ),
    ])
    expect(dangling).toEqual([])
  })

  it('in documents are links that lead somewhere', () => {
    const documents = texts.filter(([path]) => path.endsWith('.md'))
    const links = documents.flatMap(([path, text]) => linksIn(text).map((link) => ({ from: path, ...link })))
    const broken = links.filter(({ from, path, anchor }) => {
      const target = path === '' ? join(root, from) : join(root, dirname(from), path)
      if (!existsSync(target)) return true
      return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).has(anchor)
    })
    expect(broken).toEqual([])
    expect(links.length).toBeGreaterThan(50)
  })

  it('in documents are paths of files that there are', () => {
    const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n').filter(Boolean)
    const missing = texts
      .filter(([path]) => path.endsWith('.md'))
      .flatMap(([path, text]) => pathsIn(text).map((named) => ({ path, named })))
      // A word in capitals stands for a name.
      .filter(
        ({ named }) =>
          !ignored.includes(named) && globSync(named.replaceAll(/[A-Z]{2,}/g, '*'), { cwd: root }).length === 0,
      )
    expect(missing).toEqual([])
  })

  it('in the indexes name each page', () => {
    for (const index of ['docs/README.md', 'docs/reference/README.md', 'docs/adr/README.md']) {
      const linked = linksIn(readFileSync(join(root, index), 'utf8')).map(({ path }) => path)
      const there = globSync('*', { cwd: join(root, dirname(index)), withFileTypes: true })
        .filter((entry) => entry.name.endsWith('.md') && entry.name !== 'README.md')
        .map(({ name }) => name)
      expect(there.filter((name) => !linked.includes(name))).toEqual([])
    }
    const [front, all] = ['README.md', 'docs/README.md'].map((page) => linksIn(readFileSync(join(root, page), 'utf8')))
    expect(front?.map(({ path }) => path)).toContain('docs/README.md')
    expect(all?.map(({ path }) => path)).toEqual(expect.arrayContaining(['adr/README.md', 'reference/README.md']))
  })

  it('within a page of the reference name sections of it', () => {
    const dangling = [...pages].flatMap(([name, headings]) => {
      const text = readFileSync(join(folder, name), 'utf8')
      const named = [...text.matchAll(/\((\d{1,2}\.\d{1,2})\)|\bsec(?:tion|\.) (\d+(?:\.\d+)?)/g)]
      return named.flatMap(([whole, bare, after]) => (headings.has(bare ?? after ?? '') ? [] : [`${name}: ${whole}`]))
    })
    expect(dangling).toEqual([])
  })
})

describe('what is found in a text', () => {
  it.each([
    ['(reference/karpenter-core.md 4.2)', [['karpenter-core.md', '4.2']]],
    [
      '(reference/a.md 1.3 and 8.1). Then',
      [
        ['a.md', '1.3'],
        ['a.md', '8.1'],
      ],
    ],
    [
      '(reference/a.md 3.2-3.8)',
      [
        ['a.md', '3.2'],
        ['a.md', '3.8'],
      ],
    ],
    ['(reference/karpenter-1.15.md 4.8b)', [['karpenter-1.15.md', '4.8b']]],
    ['(reference/a.md 2, "Compatible")', [['a.md', '2']]],
    [
      '(reference/a.md 4.2,\n * reference/b.md 7; more',
      [
        ['a.md', '4.2'],
        ['b.md', '7'],
      ],
    ],
    [
      '(reference/a.md\n// 4.1, 4.2)',
      [
        ['a.md', '4.1'],
        ['a.md', '4.2'],
      ],
    ],
    ['see reference/a.md.', [['a.md', undefined]]],
  ])('%j', (text, found) => {
    expect(referencesIn(text).map(({ page, section }) => [page, section])).toEqual(found)
  })

  it('headings and links', () => {
    const page =
      '# A\n\n## 1. One\n\n### 1.2 Two\n\n## Last: `code` here\n\n[a](b.md#c) `[x](y)` [z](https://e.org) <img src="d.png">\n'
    expect([...headingNumbers(page)]).toEqual(['1', '1.2'])
    expect([...anchorsOf(page)]).toEqual(['a', '1-one', '12-two', 'last-code-here'])
    expect(linksIn(page)).toEqual([{ path: 'b.md', anchor: 'c' }, { path: 'd.png' }])
    expect(pathsIn('core/a `core/b.ts` `node deploy/{c,d}.ts x/test/e`')).toEqual(['core/b.ts', 'deploy/{c,d}.ts'])
  })
})
