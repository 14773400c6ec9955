import { alignedTable } from '../../deploy/marked-table.ts'
import { type Area, type Counts, countsOf, lineOf, testsOf, type UpstreamTest } from './mapping.ts'

type Mappings = ReadonlyMap<string, readonly UpstreamTest[]>

const heading = `# Upstream's own tests, and where Joiner stands

Written by \`npm run generate\`: what follows is the last whole run of Karpenter's end-to-end suites, and below it what answers to upstream's other tests.

## Karpenter's own end-to-end suites
`

const mapped = `## Tests that are answered by tests of ours

\`test/upstream/areas.tsv\` has the counts, \`mapping/\` the titles of upstream's tests with the test of ours that answers to each. A unit test checks that each named test exists.

The tests are those of kubernetes-sigs/karpenter 2266468 (v1.14.0-20) and Azure/karpenter-provider-azure 352646f (1.10.2). Every title was read once and judged: **covered** by a test of ours, **without** a test of ours though Joiner does it, **different**, or **out** (the feature is missing, or left out on purpose).

That reading kept numbers, not titles. Therefore tests that were written since for a behaviour without one are taken off its number, and what is left is at least the mapped titles that have none: for areas with a mapping, covered and without are estimates. Areas with golden vectors count as covered. Titles in \`mapping/\` are of the version of each file that could be read, which for some files is older or newer than the snapshot.
`

const recount = 'to be recounted'

/** Returns docs/upstream-tests.md. */
export function pageOf(areas: readonly Area[], mappings: Mappings, suites: string): string {
  return [heading, suites, mapped, countsPart(areas, mappings), mappedPart(mappings)].join('\n')
}

function countsPart(areas: readonly Area[], mappings: Mappings): string {
  const counted = areas.map((area) => ({ area, counts: countsOf(area, testsOf(area, mappings)) }))
  const cells = (all: number, { covered, without, different, out }: Counts) =>
    [all, covered, without, different, out].map(String)
  const rows = counted.map(({ area, counts }) => [area.repo, area.name, ...cells(area.all, counts), remarkOf(area)])
  const sum = (of: (one: (typeof counted)[number]) => number) => counted.reduce((total, one) => total + of(one), 0)
  const total = {
    covered: sum(({ counts }) => counts.covered),
    without: sum(({ counts }) => counts.without),
    different: sum(({ counts }) => counts.different),
    out: sum(({ counts }) => counts.out),
  }
  const all = sum(({ area }) => area.all)
  const columns = ['Repo', 'Area', 'All', 'Covered', 'Without', 'Different', 'Out', 'Remark']
  return `## Counts

Why tests are out is a line of a page or a decision, which the last column names. A unit test checks that these exist, and that no area has tests that are different. A row that says \`${recount}\` is still counted as the snapshot found it.

${alignedTable(columns, [...rows, ['', '**sum**', ...cells(all, total), '']])}`
}

function remarkOf({ remark, reasons }: Area): string {
  const why = reasons.map((reason) => {
    const line = lineOf(reason)
    return line === undefined
      ? `[ADR ${Number(reason.slice(0, 4))}](adr/${reason}.md)`
      : `[${line.name}](${line.name}): "${line.start}"`
  })
  const out = why.length === 0 ? '' : `Out: ${why.join('; ')}`
  return [remark === 'recount' ? recount : remark, out].filter((part) => part !== '').join('. ')
}

function mappedPart(mappings: Mappings): string {
  const states = ['covered', 'new', 'untested', 'different', 'out', 'recount'] as const
  const rows = [...mappings].map(([name, tests]) => [
    `\`${name}\``,
    String(tests.length),
    ...states.map((state) => String(tests.filter((one) => one.state === state).length)),
  ])
  const columns = ['Mapping', 'Titles', 'Covered', 'New test', 'Without', 'Different', 'Out', 'To be recounted']
  return `## Titles that are mapped to tests of ours

Files of \`test/upstream/mapping/\` with their counts. A title without a test of ours has the state \`out\` or \`untested\` there, with the reason.

${alignedTable(columns, rows)}`
}
