// Which test of ours answers to which test of upstream: data that people write, and what can be said about it.

const states = ['covered', 'new', 'untested', 'different', 'out', 'recount'] as const

/**
 * `covered`: a test of ours existed. `new`: one was written for it. `untested`: Joiner does it, and no test of ours shows it. `different`: Joiner does
 * something else. `out`: Joiner has nothing of the kind. `recount`: the feature is being made.
 */
type State = (typeof states)[number]

/** A test of upstream. */
export interface UpstreamTest {
  readonly suite: string
  readonly title: string
  readonly state: State
  /** The file of our test; empty where there is none. */
  readonly file: string
  /** Our test, by a part of its name as the file has it; else the reason. */
  readonly test: string
}

/** Tests of upstream on one subject, as they were counted by reading their titles. */
export interface Area {
  readonly repo: string
  readonly name: string
  readonly all: number
  readonly covered: number
  readonly without: number
  readonly different: number
  readonly out: number
  /** Name of the mapping with tests of this area, and its suites where it has others; empty: there is none. */
  readonly mapping: string
  /** How it was counted, in words; `recount`: it is still counted as the first reading found it. */
  readonly remark: string
  /** Why tests are out: a page of docs/ with the beginning of a line, `placement.md: Pods with`, or names of decisions in docs/adr/. */
  readonly reasons: readonly string[]
}

/** Returns the rows of a file of tab-separated values, without its heading. Errors: a row has too few or too many cells. */
function rowsOf(text: string, cells: number): readonly (readonly string[])[] {
  const [, ...lines] = text.replace(/\n$/, '').split('\n')
  return lines.map((line) => {
    const row = line.split('\t')
    if (row.length !== cells) throw new Error(`"${line}" has ${row.length} cells instead of ${cells}`)
    return row
  })
}

/** Errors: a row is malformed, or has a state that there is not. */
export function parseMapping(text: string): readonly UpstreamTest[] {
  return rowsOf(text, 5).map(([suite = '', title = '', state, file = '', test = '']) => {
    const known = states.find((one) => one === state)
    if (known === undefined) throw new Error(`"${title}" has the state "${state}"; known are ${states.join(', ')}`)
    return { suite, title, state: known, file, test }
  })
}

/** The remark may end with reasons: `out: REASON | REASON`. Errors: a row is malformed. */
export function parseAreas(text: string): readonly Area[] {
  return rowsOf(text, 9).map(
    ([repo = '', name = '', all, covered, without, different, out, mapping = '', words = '']) => {
      const [remark = '', reasons = ''] = words.split(/(?:^|; )out: /)
      return {
        repo,
        name,
        all: Number(all),
        covered: Number(covered),
        without: Number(without),
        different: Number(different),
        out: Number(out),
        mapping,
        remark,
        reasons: reasons === '' ? [] : reasons.split(' | '),
      }
    },
  )
}

/** Returns what is wrong with an area: a difference that is not settled, or tests that are out without a reason that is written down. */
export function areaProblems(area: Area, { page, decisions }: Written): readonly string[] {
  const unknown = area.reasons.filter((reason) => !isLine(reason, page) && !decisions.includes(`${reason}.md`))
  return [
    ...(area.different === 0
      ? []
      : ['has tests that are different: change the behaviour, or decide and write it down']),
    ...(area.out > 0 && area.reasons.length === 0 && area.remark !== 'recount'
      ? ['has tests that are out, and names no reason']
      : []),
    ...unknown.map(
      (reason) => `"${reason}" is no page of docs/ with the beginning of a line, and no decision in docs/adr/`,
    ),
  ]
}

/** Returns a reason's page, and how its line begins; undefined when it names no page. */
export function lineOf(reason: string): { readonly name: string; readonly start: string } | undefined {
  const [, name, start] = /^([\w-]+\.md): (.*)$/.exec(reason) ?? []
  return name === undefined || start === undefined ? undefined : { name, start }
}

function isLine(reason: string, page: Written['page']): boolean {
  const line = lineOf(reason)
  return line !== undefined && page(line.name)?.includes(`\n- **${line.start}`) === true
}

/** Reads a page of docs/ by its name; and the names of the files in docs/adr/. */
interface Written {
  readonly page: (name: string) => string | undefined
  readonly decisions: readonly string[]
}

/** Returns what is wrong with a mapping: a test of ours that is not there, a reason that is missing, a test of upstream that stands twice. */
export function problemsOf(
  tests: readonly UpstreamTest[],
  read: (file: string) => string | undefined,
): readonly string[] {
  const seen = new Set<string>()
  return tests.flatMap((one) => {
    const key = `${one.suite}: ${one.title}`
    const twice = seen.has(key) ? [`${key}: stands twice`] : []
    seen.add(key)
    return [...twice, ...problemOf(one, read).map((problem) => `${key}: ${problem}`)]
  })
}

function problemOf({ state, file, test }: UpstreamTest, read: (file: string) => string | undefined): readonly string[] {
  if (state !== 'covered' && state !== 'new')
    return state !== 'untested' && test === '' ? ['lacks a reason'] : file === '' ? [] : ['names a file, but no test']
  const text = read(file)?.replaceAll("\\'", "'")
  if (text === undefined) return [`${file} does not exist`]
  return test !== '' && text.includes(test) ? [] : [`${file} has no test "${test}"`]
}

/** Returns the tests of an area among all mappings, by name. */
export function testsOf(area: Area, mappings: ReadonlyMap<string, readonly UpstreamTest[]>): readonly UpstreamTest[] {
  const [name = '', suites] = area.mapping.split(': ')
  const all = mappings.get(name) ?? []
  const wanted = suites?.split(', ')
  return wanted === undefined ? all : all.filter(({ suite }) => wanted.includes(suite))
}

export interface Counts {
  readonly covered: number
  readonly without: number
  readonly different: number
  readonly out: number
}

/**
 * Returns the counts of an area with what was written since they were made. The first reading did not keep which tests it found without a test of
 * ours. So each new test takes one from their number, and as many are left as are known by title.
 */
export function countsOf(area: Area, tests: readonly UpstreamTest[]): Counts {
  const count = (state: State) => tests.filter((one) => one.state === state).length
  const without = Math.min(area.without, Math.max(count('untested'), area.without - count('new')))
  const { different, out } = area
  return { covered: area.all - without - different - out, without, different, out }
}
