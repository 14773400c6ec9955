import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { importCycles } from './cycles.ts'
import { backArrows } from './layers.ts'
import { subjects, subjectTable } from './lines.ts'
import { holds, measure } from './measures.ts'
import { readSource, readSources, type Source } from './sources.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** A tree of files in a folder that the test's end removes. */
function treeOf(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'joiner-structure-'))
  folders.push(root)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

const lines = (count: number) => '// line\n'.repeat(count)
const clean = { 'core/a.ts': lines(8), 'core/a.test.ts': lines(9), 'api/b.ts': "import { a } from '../core/a.ts'\n" }

const source = (path: string, ...imports: readonly string[]): Source => ({
  path,
  lines: 1,
  test: false,
  imports,
  uses: imports,
  functions: [],
  state: [],
  offered: [],
  taken: [],
})

describe('measure', () => {
  const measured = (files: Readonly<Record<string, string>>) => measure(readSources(treeOf(files)))

  it('passes a tree that keeps all limits', () => {
    expect(measured(clean).filter((row) => !holds(row))).toEqual([])
  })

  const offences: readonly (readonly [row: RegExp, offender: RegExp, files: Record<string, string>])[] = [
    [
      /cycles/,
      /^2 files, such as core\/x\.ts -> core\/y\.ts -> core\/x\.ts$/,
      { 'core/x.ts': "import type { Y } from './y.ts'\n", 'core/y.ts': "export type { X } from './x.ts'\n" },
    ],
    [
      /back-arrows/,
      /^core\/x\.ts \(core\) imports api\/b\.ts \(api\)$/,
      { 'core/x.ts': "import type { B } from '../api/b.ts'\n" },
    ],
    [
      /parameters/,
      /^core\/x\.ts:2 f19 has 4$/,
      {
        'core/x.ts': `\n${Array.from({ length: 20 }, (_, at) => `const f${19 - at} = (a: 1, b: 2, c: 3, d: 4) => a`).join('\n')}\n`,
      },
    ],
    [/state/, /^core\/x\.ts:2 seen is changed$/, { 'core/x.ts': '\nconst seen = new Set()\nseen.add(1)\n' }],
    [
      /folders/,
      /^core\/deep has 21$/,
      Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`core/deep/f${at}.ts`, '\n'])),
    ],
    [/files of more/, /^core\/long\.ts has 401$/, { 'core/big.test.ts': lines(3000), 'core/long.ts': lines(401) }],
    [
      /functions of/,
      /^core\/x\.ts:61 f1 has 61$/,
      {
        'core/x.ts': Array.from({ length: 40 }, (_, at) => `function f${at}() {\n${lines(at === 0 ? 58 : 59)}}\n`).join(
          '',
        ),
        'core/big.test.ts': lines(3000),
      },
    ],
    [
      /one file imports/,
      /^core\/doors\/0\/d0\.ts has 1, for core\/x\.ts$/,
      {
        ...Object.fromEntries(
          Array.from({ length: 150 }, (_, at) => [`core/doors/${at % 9}/d${at}.ts`, 'export const a = 1\n']),
        ),
        'core/x.ts': Array.from({ length: 150 }, (_, at) => `import './doors/${at % 9}/d${at}.ts'\n`).join(''),
        'core/big.test.ts': lines(3000),
      },
    ],
    [
      /from a launch/,
      /^activities\/azure\/called\/f0\.ts$/,
      {
        'activities/azure/launch/launch.ts': Array.from(
          { length: 28 },
          (_, at) => `import { type A, a } from '../called/f${at}.ts'\n`,
        ).join(''),
        'activities/azure/machines/instance-of.ts': "import '../launch/put-vm.ts'\n",
        'activities/azure/launch/put-vm.ts': "import '../called/f0.ts'\n",
        'core/big.test.ts': lines(3000),
      },
    ],
    [
      /one command of/,
      /^starter\/cli\/a\/f0\.ts imports starter\/cli\/b\/command\.ts$/,
      {
        'starter/cli/a/command.ts': "import '../shared/x.ts'\n",
        'starter/cli/b/command.ts': '\n',
        'starter/cli/shared/x.ts': "import '../b/command.ts'\n",
        ...Object.fromEntries(
          Array.from({ length: 44 }, (_, at) => [`starter/cli/a/f${at}.ts`, "import '../b/command.ts'\n"]),
        ),
        'core/big.test.ts': lines(3000),
      },
    ],
    [
      /only tests/,
      /^core\/x\.ts:2 lost$/,
      {
        'core/x.ts':
          'export const used = 1\nexport const lost = () => inner\nexport const inner = used\nexport type Own = typeof inner\n',
        'core/y.ts': "import { used, type Own } from './x.ts'\nexport { used }\n",
        'core/x.test.ts': `import { inner, lost, used } from './x.ts'\n${lines(8)}`,
      },
    ],
    [/lines of tests/, /^9 lines of tests, 19 of the product$/, { 'core/x.ts': lines(10) }],
  ]
  it.each(offences)('fails %s and names the offender', (row, offender, files) => {
    const failed = measured({ ...clean, 'core/padding.test.ts': '', ...files }).filter((one) => !holds(one))
    const found = failed.filter(({ name }) => row.test(name))
    expect(found.map(({ offenders }) => offenders[0])).toEqual([expect.stringMatching(offender)])
  })

  it('excuses tests from the limits of the product', () => {
    const long = `${lines(300)}${Array.from({ length: 30 }, (_, at) => `const f${at} = (a: 1, b: 2, c: 3, d: 4) => a`).join('\n')}`
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`core/f${at}.test.ts`, long]))
    expect(measured({ ...clean, ...many, 'test/x.ts': long }).filter((row) => !holds(row))).toEqual([])
  })
})

describe('npm run structure', () => {
  const command = fileURLToPath(new URL('./command.ts', import.meta.url))
  const run = (root: string) => spawnSync(process.execPath, [command, root], { encoding: 'utf8' })

  it('asks for a new name where a launch has moved', () => {
    const { stderr } = run(treeOf({ ...clean, 'activities/azure/launch/launch.ts': lines(1) }))
    expect(stderr).toContain('activities/azure/machines/instance-of.ts is not there')
  })

  it('ends with 0 for a clean tree, with 1 and the offender otherwise', () => {
    expect(run(treeOf(clean))).toMatchObject({ status: 0, stdout: expect.not.stringContaining('FAIL') })
    const bad = run(treeOf({ ...clean, 'core/a.ts': `${lines(7)}import '../api/b.ts'\n` }))
    expect(bad.status).toBe(1)
    expect(bad.stdout).toContain('FAIL     1  back-arrows between layers (at most 0)')
    expect(bad.stdout).toContain('core/a.ts (core) imports api/b.ts (api)')
  })
})

describe('subjects', () => {
  const sources = readSources(
    treeOf({ ...clean, 'api/deep/er/c.ts': lines(5), 'core/deep/d.ts': lines(2), 'test/e.ts': lines(3) }),
  )

  it('counts the product and its tests apart, by folder at the root', () => {
    expect(subjects(sources)).toEqual([
      { folder: 'api', files: 2, lines: 6, tests: 0 },
      { folder: 'core', files: 2, lines: 10, tests: 9 },
      { folder: 'test', files: 0, lines: 0, tests: 3 },
    ])
    expect(subjectTable(subjects(sources))).toContain('\n| in all | 4 | 16 | 12 |')
  })

  it('counts the folders within one', () => {
    expect(subjects(sources, 'api')).toEqual([
      { folder: 'api', files: 1, lines: 1, tests: 0 },
      { folder: 'api/deep', files: 1, lines: 5, tests: 0 },
    ])
  })
})

describe('readSource', () => {
  it.each([
    ["import { a } from './a.ts'", ['core/a.ts']],
    ["import type { A } from '../api/a.ts'", ['api/a.ts']],
    ["import './a.ts'", ['core/a.ts']],
    ["export { a } from './a.ts'", ['core/a.ts']],
    ["export type * from './a.ts'", ['core/a.ts']],
    ["const a = await import('./a.ts')", ['core/a.ts']],
    ["type A = import('./deep/a.ts').A", ['core/deep/a.ts']],
    ["type A = typeof import('./a.ts')", ['core/a.ts']],
    ["import { z } from 'zod'; export const a = 1", []],
    ["import './a.ts'; export * from './a.ts'", ['core/a.ts']],
  ])('sees what %s imports', (text, imports) => {
    expect(readSource('core/x.ts', text).imports).toEqual(imports)
  })

  it.each([
    ["import { a } from './a.ts'", ['core/a.ts']],
    ["import { type A, a } from './a.ts'", ['core/a.ts']],
    ["import './a.ts'", ['core/a.ts']],
    ["import { type A } from './a.ts'", []],
    ["import type { A } from './a.ts'", []],
  ])('sees of what %s uses more than types', (text, uses) => {
    expect(readSource('core/x.ts', text).uses).toEqual(uses)
  })

  it.each([
    ['function f(a, b) {}', 'f', 2],
    ['const f = (a, b = 1, ...c) => a', 'f', 3],
    ['const o = { f: function (a) {} }', 'f', 1],
    ['const o = { f({ a, b }, c) {} }', 'f', 2],
    ['class C { constructor(a, b) {} }', 'constructor', 2],
    ['class C { #f = (a) => a }', 'f', 1],
    ['this.f = (a) => a', 'f', 1],
    ['function f(this: Window, a) {}', 'f', 1],
    ['[].map((a, b, c) => a)', '(callback)', 3],
  ])('counts the parameters of %s', (text, name, parameters) => {
    expect(readSource('core/x.ts', text).functions).toEqual([{ name, line: 1, lines: 1, parameters }])
  })

  it('passes over signatures without a body', () => {
    expect(readSource('core/x.ts', 'interface I { f(a: 1, b: 2): void }\ntype F = (a: 1) => void').functions).toEqual(
      [],
    )
  })

  it('names a file that does not parse', () => {
    expect(() => readSource('core/x.ts', 'const = 1')).toThrow('core/x.ts: does not parse')
  })
})

describe('the state of a module', () => {
  const remembered = (text: string) => readSource('core/x.ts', text).state.map(({ name, why }) => `${name} ${why}`)

  it.each([
    ['let count = 0', 'count is declared with let'],
    ['export let count: number', 'count is declared with let'],
    ['var count = 0', 'count is declared with var'],
    ['const known = new Map(); const f = (key) => known.set(key, 1)', 'known is changed'],
    ['export const known = new WeakSet(); known.add({})', 'known is changed'],
    ['const list = [] as string[]; function f() { list.push("a") }', 'list is changed'],
    ['const table = {} satisfies object; class C { f() { table.a.b = 1 } }', 'table is changed'],
    ['const table = {}; const f = () => { delete table.a }', 'table is changed'],
    ['const table = { a: 0 }; const f = () => table.a++', 'table is changed'],
    ['const table = { a: 0 }; const f = () => { table.a! += 1 }', 'table is changed'],
    ['const index = new ClusterIndex()', 'index is an object of ClusterIndex'],
    ['class C { static count = 0 }', 'count is a static field that can be assigned'],
    ['const name = randomUUID()', 'name keeps randomUUID'],
    ['const startedAt = performance.now()', 'startedAt keeps now'],
    ['const later = setTimeout', 'later keeps setTimeout'],
    ["import { setTimeout } from 'node:timers/promises'", 'node:timers/promises keeps the timers of Node'],
  ])('is found in %s', (text, found) => {
    expect(remembered(text)).toEqual([found])
  })

  it.each([
    'const most = 3; const names = ["a"]; const known = new Map([["a", 1]]); const f = (key) => known.get(key)',
    'const known = new WeakMap(); const f = (object) => known.set(object, 1)',
    'const pattern = new RegExp("a"); const never = new AbortController().signal',
    'class C { static readonly most = 3; static of() { return new C() }; count = 0 }',
    'function f() { let count = 0; const seen = new Set(); return () => seen.add(count++) }',
    'const now = () => Date.now()',
    'declare let count: number; type T = { let: 1 }',
  ])('is not in %s', (text) => {
    expect(remembered(text)).toEqual([])
  })
})

describe('importCycles', () => {
  it('takes files that reach each other as one cycle and shows a shortest circle', () => {
    const sources = [
      source('core/a.ts', 'core/b.ts'),
      source('core/b.ts', 'core/c.ts'),
      source('core/c.ts', 'core/a.ts', 'core/d.ts'),
      source('core/d.ts', 'core/c.ts', 'core/e.ts'),
      source('core/e.ts'),
    ]
    expect(importCycles(sources)).toEqual([
      { files: ['core/a.ts', 'core/b.ts', 'core/c.ts', 'core/d.ts'], path: ['core/c.ts', 'core/d.ts', 'core/c.ts'] },
    ])
  })

  it('keeps cycles apart that are joined one way, and finds a file that imports itself', () => {
    const sources = [
      source('core/a.ts', 'core/b.ts'),
      source('core/b.ts', 'core/a.ts', 'core/c.ts'),
      source('core/c.ts', 'core/d.ts'),
      source('core/d.ts', 'core/c.ts'),
      source('core/e.ts', 'core/e.ts', 'core/a.ts'),
    ]
    expect(importCycles(sources).map(({ files }) => files)).toEqual([
      ['core/a.ts', 'core/b.ts'],
      ['core/c.ts', 'core/d.ts'],
      ['core/e.ts'],
    ])
  })
})

describe('backArrows', () => {
  it.each([
    ['core/a.ts', 'core/deep/b.ts'],
    ['api/a.ts', 'core/b.ts'],
    ['activities/azure/contract.ts', 'api/b.ts'],
    ['activities/disruption/plan-contract.ts', 'activities/azure/contract.ts'],
    ['activities/azure/a.ts', 'workflows/messages.ts'],
    ['workflows/a.ts', 'activities/azure/contract.ts'],
    ['starter/a.ts', 'activities/azure/b.ts'],
    ['starter/joiner.ts', 'workers/run-worker.ts'],
    ['workers/a.ts', 'starter/b.ts'],
    ['deploy/a.ts', 'api/b.ts'],
    ['deploy/local/a.ts', 'starter/b.ts'],
    ['core/a.test.ts', 'test/builders.ts'],
    ['test/a.ts', 'workers/b.ts'],
    ['bench/a.ts', 'test/b.ts'],
    ['starter/ui/page/a.ts', 'starter/document/words.ts'],
    ['starter/cli/a/b.ts', 'starter/picture/c.ts'],
    ['starter/answers/a.ts', 'starter/picture/b.ts'],
  ])('%s may import %s', (from, to) => {
    expect(backArrows([source(from, to)])).toEqual([])
  })

  it.each([
    ['core/a.ts', 'api/b.ts'],
    ['core/a.ts', 'test/b.ts'],
    ['api/a.ts', 'activities/azure/contract.ts'],
    ['activities/azure/contract.ts', 'activities/azure/b.ts'],
    ['activities/azure/contract.ts', 'workflows/b.ts'],
    ['activities/azure/a.ts', 'workers/b.ts'],
    ['workflows/a.ts', 'activities/azure/b.ts'],
    ['starter/a.ts', 'workers/b.ts'],
    ['starter/picture/a.ts', 'starter/cli/shared/b.ts'],
    ['starter/files/a.ts', 'starter/ui/server/b.ts'],
    ['starter/a.ts', 'deploy/local/b.ts'],
    ['starter/ui/page/a.ts', 'starter/document/print.ts'],
    ['workers/a.ts', 'starter/joiner.ts'],
    ['workers/a.ts', 'deploy/b.ts'],
    ['deploy/a.ts', 'activities/azure/b.ts'],
    ['deploy/local/a.ts', 'workers/b.ts'],
    ['activities/azure/a.ts', 'activities/azure/b.test.ts'],
  ])('%s may not import %s', (from, to) => {
    expect(backArrows([source(from, to)])).toHaveLength(1)
  })

  it('refuses a file in no layer', () => {
    expect(() => backArrows([source('tools/a.ts')])).toThrow('tools/a.ts: belongs to no layer')
  })
})
