import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readOwn, stored } from './files.ts'
import {
  type Area,
  areaProblems,
  countsOf,
  parseAreas,
  parseMapping,
  problemsOf,
  testsOf,
  type UpstreamTest,
} from './mapping.ts'

const { areas, mappings } = stored()

describe('the mapping of upstream’s tests', () => {
  test.each([...mappings])('%s names tests of ours that exist', (_, tests) => {
    expect(tests.length).toBeGreaterThan(0)
    expect(problemsOf(tests, readOwn)).toEqual([])
  })

  test('belongs to areas, each title to one', () => {
    const claimed = areas.flatMap((area) => testsOf(area, mappings))
    expect(claimed).toHaveLength([...mappings.values()].flat().length)
    expect(new Set(claimed).size).toBe(claimed.length)
  })

  test('and the counts of each area add up, before and after what was written since', () => {
    for (const area of areas) {
      const { covered, without, different, out } = countsOf(area, testsOf(area, mappings))
      expect(area.covered + area.without + area.different + area.out, area.name).toBe(area.all)
      expect(
        [covered, without].every((count) => count >= 0),
        area.name,
      ).toBe(true)
      expect(covered + without + different + out, area.name).toBe(area.all)
    }
  })

  test.each(areas)('leaves nothing different in $name, and what is out has its reason written down', (area) => {
    const decisions = readdirSync(fileURLToPath(new URL('../../docs/adr/', import.meta.url)))
    expect(areaProblems(area, { page: (name) => readOwn(`docs/${name}`), decisions })).toEqual([])
  })
})

const titled = (state: UpstreamTest['state'], change: Partial<UpstreamTest> = {}): UpstreamTest => ({
  suite: 's',
  title: 't',
  state,
  file: '',
  test: '',
  ...change,
})

describe('a mapping', () => {
  const files: Readonly<Record<string, string>> = { 'a.test.ts': "test('it\\'s there', () => {})" }
  const read = (file: string) => files[file]

  test.each<[string, UpstreamTest, readonly string[]]>([
    ['with a test that is there', titled('covered', { file: 'a.test.ts', test: "it's there" }), []],
    [
      'with a test that is not',
      titled('new', { file: 'a.test.ts', test: 'gone' }),
      ['s: t: a.test.ts has no test "gone"'],
    ],
    ['with a test without a name', titled('new', { file: 'a.test.ts' }), ['s: t: a.test.ts has no test ""']],
    [
      'with a file that is not there',
      titled('covered', { file: 'b.test.ts', test: 'x' }),
      ['s: t: b.test.ts does not exist'],
    ],
    ['without a reason', titled('different'), ['s: t: lacks a reason']],
    ['with a file and no test', titled('untested', { file: 'a.test.ts' }), ['s: t: names a file, but no test']],
    ['without a test, as it says', titled('untested'), []],
  ])('%s', (_, one, problems) => {
    expect(problemsOf([one], read)).toEqual(problems)
  })

  test('with a title that stands twice', () => {
    expect(problemsOf([titled('untested'), titled('untested')], read)).toEqual(['s: t: stands twice'])
  })

  test('that is malformed is refused with the row', () => {
    expect(() => parseMapping('heading\ns\tt\tnew')).toThrow('"s\tt\tnew" has 3 cells instead of 5')
    expect(() => parseMapping('heading\ns\tt\tgood\t\t')).toThrow('"t" has the state "good"')
    expect(() => parseAreas('heading\ncore')).toThrow('has 1 cells instead of 9')
  })
})

test.each<[string, number, readonly UpstreamTest['state'][], number]>([
  ['each new test takes one from what has none', 5, ['new', 'new', 'covered'], 3],
  ['no fewer than are known by title', 2, ['new', 'new', 'untested'], 1],
  ['no more than were counted', 1, ['untested', 'untested'], 1],
  ['none is left', 2, ['new', 'new', 'new'], 0],
])('counts: %s', (_, without, states, left) => {
  const area: Area = {
    repo: 'core',
    name: 'a',
    all: 20,
    covered: 17 - without,
    without,
    different: 2,
    out: 1,
    mapping: 'm',
    remark: '',
    reasons: [],
  }
  expect(
    countsOf(
      area,
      states.map((state) => titled(state)),
    ),
  ).toEqual({
    covered: 17 - left,
    without: left,
    different: 2,
    out: 1,
  })
})

test.each<[string, Partial<Area>, readonly string[]]>([
  ['with nothing out', {}, []],
  ['that is out by a line of a page', { out: 1, reasons: ['nodes.md: No Windows.'] }, []],
  ['that is out by a decision', { out: 1, reasons: ['0030-small'] }, []],
  ['that is out without a reason', { out: 1 }, ['has tests that are out, and names no reason']],
  [
    'that is out for a reason that nobody wrote down',
    { out: 1, reasons: ['nodes.md: Windows'] },
    ['"nodes.md: Windows" is no page of docs/ with the beginning of a line, and no decision in docs/adr/'],
  ],
  [
    'that is different',
    { different: 1 },
    ['has tests that are different: change the behaviour, or decide and write it down'],
  ],
])('an area %s', (_, change, problems) => {
  const area = { ...parseAreas('heading\ncore\ta\t1\t1\t0\t0\t0\t\t')[0], ...change } as Area
  expect(
    areaProblems(area, {
      page: (name) => (name === 'nodes.md' ? '# Nodes\n\n- **No Windows.** None.' : undefined),
      decisions: ['0030-small.md'],
    }),
  ).toEqual(problems)
})
