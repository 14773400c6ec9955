// How many lines each subject of the tree has, as the formatter leaves them.
import type { Source } from './sources.ts'

/** One subject: a folder, its files of the product and what tests them. */
export interface Subject {
  readonly folder: string
  readonly files: number
  readonly lines: number
  /** Lines of the tests beside its files. */
  readonly tests: number
}

/**
 * Counts lines by folder, in the order of names: the folders at the root, or those in `within`. Files directly in `within` count for `within`.
 * `test/` has no product: what is there counts as tests.
 */
export function subjects(sources: readonly Source[], within?: string): readonly Subject[] {
  const inside = sources.filter(({ path }) => within === undefined || path.startsWith(`${within}/`))
  const depth = within === undefined ? 1 : within.split('/').length + 1
  const folders = Map.groupBy(inside, ({ path }) => path.split('/').slice(0, -1).slice(0, depth).join('/'))
  return [...folders].map(([folder, members]) => {
    const product = members.filter(({ test, path }) => !test && !path.startsWith('test/'))
    const lines = total(product)
    return { folder, files: product.length, lines, tests: total(members) - lines }
  })
}

/** The subjects as a Markdown table with their sum. */
export function subjectTable(rows: readonly Subject[]): string {
  const sum = (of: (row: Subject) => number) => rows.reduce((all, row) => all + of(row), 0)
  const all = { folder: 'in all', files: sum((row) => row.files), lines: sum((row) => row.lines) }
  const line = ({ folder, files, lines, tests }: Subject) => `| ${folder} | ${files} | ${lines} | ${tests} |`
  const head = ['| subject | files | lines | lines of tests |', '| --- | ---: | ---: | ---: |']
  return [...head, ...rows.map(line), line({ ...all, tests: sum((row) => row.tests) })].join('\n')
}

const total = (sources: readonly Source[]) => sources.reduce((sum, { lines }) => sum + lines, 0)
