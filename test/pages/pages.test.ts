import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { blocksOf, pages, readBlocks, runOf, scenarios } from './blocks.ts'
import { commandFlags, strangeFlags } from './flags.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { version, scripts } = JSON.parse(read('package.json')) as {
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
}

test('every shell block of the pages is run by a suite, or says what it needs', () => {
  const found = pages.flatMap(readBlocks)
  expect(found.length).toBeGreaterThan(40)
  const unmarked = found.flatMap((block) => {
    try {
      runOf(block)
      return []
    } catch (error) {
      return [(error as Error).message]
    }
  })
  expect(unmarked).toEqual([])
})

test('every scenario has blocks in each of its pages', () => {
  for (const [scenario, played] of Object.entries(scenarios))
    for (const page of played)
      expect({ page, runs: readBlocks(page).some((block) => runOf(block)?.scenario === scenario) }).toEqual({
        page,
        runs: true,
      })
})

test.each([
  ['nothing', ''],
  ['an unknown scenario', '<!-- run: elsewhere -->\n\n'],
  ['an unknown need', '<!-- needs: luck -->\n\n'],
])('a block with %s before it is found', (_, before) => {
  const [block] = blocksOf('docs/install-aks.md', `Text.\n\n${before}\`\`\`sh\nls\n\`\`\`\n`)
  expect(() => block && runOf(block)).toThrow(/docs\/install-aks.md:\d: the comment before the block/)
})

test('a block gives its scenario and the words that are replaced', () => {
  const [block] = blocksOf('docs/nodes.md', '<!-- run: operate NAME=node -->\n\n```sh\njoiner node show NAME\n```\n')
  expect(block && runOf(block)).toEqual({ scenario: 'operate', words: new Map([['NAME', 'node']]) })
})

test('the installation takes as many commands as its page says', () => {
  const page = read('docs/install-aks.md')
  const [, stated] = /The page takes (\d+) commands/.exec(page) ?? []
  const commands = readBlocks('docs/install-aks.md').flatMap(({ text }) => text.replaceAll('\\\n', '').split('\n'))
  const last = commands.findIndex((command) => command.startsWith('kubectl scale deployment inflate'))
  expect(last).toBeGreaterThan(0)
  expect(Number(stated)).toBe(last + 1)
})

test('README.md is 60 lines and 6,000 characters at most', () => {
  const text = read('README.md')
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
  expect(text.length).toBeLessThanOrEqual(6000)
})

test('README.md and the index have the figures of docs/benchmarks.md', () => {
  const digits = (text = '') => String(Number(Number.parseFloat(text).toPrecision(2)))
  const rows = (start: string) =>
    [...read('docs/benchmarks.md').matchAll(new RegExp(`^\\| ${start} .*$`, 'gm'))].map(([row]) => {
      const [, , karpenter, joiner] = row.replaceAll('*', '').split('|')
      return { karpenter: digits(karpenter), joiner: digits(joiner) }
    })
  const [five, hundred, fiveHundred] = rows('\\*\\*scale request to last pod Running\\*\\*')
  const [memory] = rows("the controller's peak RSS")
  expect(read('README.md')).toContain(
    `5 pods that need 5 nodes run after ${five?.joiner} s (Karpenter ${five?.karpenter} s), 100 after ${hundred?.joiner} s (${hundred?.karpenter} s), 500 after ${fiveHundred?.joiner} s (${fiveHundred?.karpenter} s)`,
  )
  const index = read('docs/README.md')
  for (const who of ['joiner', 'karpenter'] as const)
    expect(index).toContain(`${five?.[who]} / ${fiveHundred?.[who]} s`)
  expect(index).toContain(`${memory?.joiner} MiB for Joiner at 5 nodes`)
  expect(index).toContain(`nothing; ${memory?.karpenter} MiB`)
})

test('moved-headings.md lists no heading that is still where it was', () => {
  const rows = [...read('docs/moved-headings.md').matchAll(/^- (\S+\.md): (.*?)(?:\. Why: .*)?$/gm)]
  expect(rows.length).toBeGreaterThan(30)
  const still = rows.flatMap(([, page = '', headings = '']) => {
    const path = page === 'README.md' ? page : `docs/${page}`
    const there = existsSync(join(root, path)) ? [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, one]) => one) : []
    const named = headings.split(' · ').map((heading) => /^\[([^\]]*)\]/.exec(heading)?.[1] ?? heading)
    return named.filter((heading) => there.includes(heading)).map((heading) => `${page}: ${heading}`)
  })
  expect(still).toEqual([])
})

const known = await commandFlags()

describe('pages', () => {
  test.each(pages)('%s names commands, flags and scripts that there are, and no package of a stranger', (page) => {
    const text = read(page)
    expect(text).not.toMatch(/\bnpx joiner\b/)
    const run = [...text.matchAll(/\bnpm run (?:-s )?([a-z][\w:-]*)/g)].map(([, script = '']) => script)
    expect(run.filter((script) => scripts[script] === undefined)).toEqual([])
    expect(strangeFlags(text, known)).toEqual([])
  })

  test.each([
    ['# A\n\n`joiner budgets`. `--reason` limits the output.', '--reason: of which command?'],
    ['# A\n\n`joiner pause`\n\n## `joiner budgets`\n\n`--reason` limits.', '--reason: of which command?'],
    ['# joiner pause\n\n`--disruption-reasons`', '--disruption-reasons: of which command?'],
    ['```sh\nls | joiner why pod a/b \\\n  --wide # --help\n```', '--wide'],
    ['`kubectl exec a -- node starter/joiner.ts doktor`', 'no such command'],
    ['`npm run joiner -- local up --exit`', 'no --exit'],
  ])('a mistake is found in %j', (text, problem) => {
    expect(strangeFlags(text, known)).toEqual([expect.stringContaining(problem)])
  })

  test.each([
    '# A\n\n`joiner budgets --days 3`, `joiner node hold NAME [--until 2h]`, `helm install joiner a --set b`',
    '# A\n\n`joiner node`: `--leave-vm`\n\n## B\n\n`--leave-vm`',
    '```sh\njoiner history --since 12h; joiner pause --reason "a --b"\n```',
  ])('there is none in %j', (text) => {
    expect(strangeFlags(text, known)).toEqual([])
  })

  test('they name the version of package.json, and so does the chart', () => {
    const [major, minor] = version.split('.')
    const named = (text: string) =>
      [...text.matchAll(/\b(?:joiner:|image\.tag=)(\d[\w.-]*)|joiner-(\d[\w.-]*)\.tgz/g)].map(
        ([, tag, archive]) => tag ?? archive,
      )
    expect(new Set(pages.flatMap((page) => named(read(page))))).toEqual(new Set([version]))
    expect(read('README.md')).toContain(`Status: ${major}.${minor},`)
    expect(read('deploy/chart/Chart.yaml')).toContain(`appVersion: ${version}`)
    expect(read('CHANGELOG.md')).toContain(`## ${version}`)
  })
})

describe('examples', () => {
  const files = globSync('examples/*.yaml', { cwd: root }).sort()

  test('there is one for each purpose', () => {
    expect(files.map((file) => file.replace(/^examples\//, ''))).toEqual([
      'arm64.yaml',
      'cilium.yaml',
      'general-purpose.yaml',
      'gpu.yaml',
      'inflate.yaml',
      'spot.yaml',
    ])
  })

  test.each(files)('%s says when to use it', (file) => {
    expect(read(file)).toMatch(/^# Use it /)
  })

  test('joiner validate accepts all of them without a warning', async () => {
    const args = ['starter/joiner.ts', 'validate', '--output', 'json', ...files]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
    expect(JSON.parse(stdout)).toEqual(files.map((file) => ({ file, valid: true, errors: [], warnings: [] })))
  })
})
