// What Joiner's processes take as a cluster grows, for docs/values.md: requests, limits and the choice of a profile go by it.
import { alignedTable } from './marked-table.ts'

/** The roles of a process, by its name in the tables of benchmarks. */
const roles = {
  'profile single': 'all (`profile: single`)',
  joiner: '`core`, `bridge`',
  'joiner-azure': '`azure`',
  'joiner-planner': '`planner`',
  'joiner-conversion': '`conversion`',
} as const

interface Run {
  readonly bench: string
  readonly date: string
  readonly commit: string
  readonly rows: readonly Row[]
}

/** What one process took: CPU in thousandths of a core while the nodes come and once they are there, then memory in MiB likewise. Unset: not measured. */
type Row = readonly [
  process: keyof typeof roles,
  nodes: number,
  pods: number,
  growingMilliCpu: number | undefined,
  restMilliCpu?: number | undefined,
  peakMiB?: number | undefined,
  restMiB?: number | undefined,
]

/** The last run of each benchmark that measured it. `npm run bench -- sizes` prints the rows of all roles. */
export const measured: readonly Run[] = [
  {
    bench: 'sizes',
    date: '2026-11-28',
    commit: '5f902fa1',
    rows: [
      ['profile single', 5, 5, 240, 37, 316, 248],
      ['profile single', 100, 100, 465, 76, 386, 290],
      ['profile single', 200, 200, 431, 78, 417, 365],
      ['joiner', 5, 5, 75, 23, 240, 193],
      ['joiner-azure', 5, 5, 93, 20, 198, 173],
      ['joiner-conversion', 5, 5, 7, 6, 119, 119],
      ['joiner-planner', 5, 5, 157, 23, 231, 186],
      ['joiner', 100, 100, 189, 11, 253, 238],
      ['joiner-azure', 100, 100, 200, 30, 237, 196],
      ['joiner-conversion', 100, 100, 5, 5, 120, 120],
      ['joiner-planner', 100, 100, 209, 12, 257, 244],
      ['joiner', 200, 200, 172, 14, 284, 264],
      ['joiner-azure', 200, 200, 165, 27, 237, 236],
      ['joiner-conversion', 200, 200, 5, 5, 122, 122],
      ['joiner-planner', 200, 200, 190, 19, 277, 264],
    ],
  },
  {
    bench: 'scale-up',
    date: '2026-11-28',
    commit: '5f902fa1',
    rows: [['profile single', 500, 500, 415, undefined, 770]],
  },
  {
    bench: 'planner',
    date: '2026-11-23',
    commit: 'a08653e',
    rows: [['joiner-planner', 5000, 100_000, undefined, undefined, 765]],
  },
]

const columns = [
  'Roles',
  'Nodes',
  'Pods',
  'CPU growing',
  'CPU at rest',
  'Peak memory',
  'Memory at rest',
  'Measured by',
] as const

/** The table of runs. */
export function usageTable(runs: readonly Run[]): string {
  const rows = runs.flatMap(({ bench, date, commit, rows: taken }) =>
    taken.map(([process, nodes, pods, growing, rest, peakMiB, restMiB]) => [
      roles[process],
      nodes.toLocaleString('en'),
      pods.toLocaleString('en'),
      amount(growing, 'm'),
      amount(rest, 'm'),
      amount(peakMiB, ' MiB'),
      amount(restMiB, ' MiB'),
      `\`${bench}\`, ${date}, commit ${commit}`,
    ]),
  )
  return alignedTable(columns, rows)
}

function amount(count: number | undefined, unit: string): string {
  return count === undefined ? '' : `${count.toLocaleString('en')}${unit}`
}
