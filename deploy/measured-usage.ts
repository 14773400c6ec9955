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

/** One run of a benchmark. */
interface Run {
  readonly bench: string
  readonly date: string
  readonly commit: string
  readonly rows: readonly Row[]
}

/** What one process took. Unset: it was not measured. */
interface Row {
  readonly process: keyof typeof roles
  readonly nodes: number
  readonly pods: number
  /** Thousandths of a core while the nodes come, and once they are there. */
  readonly growingMilliCpu?: number
  readonly restMilliCpu?: number
  readonly peakMiB?: number
  readonly restMiB?: number
}

/** The last run of each benchmark that measured it. `npm run bench -- sizes` prints the rows of all roles. */
export const measured: readonly Run[] = [
  {
    bench: 'scale-up',
    date: '2026-11-23',
    commit: 'a26210e',
    rows: [
      { process: 'profile single', nodes: 5, pods: 5, growingMilliCpu: 265, peakMiB: 411 },
      { process: 'profile single', nodes: 100, pods: 100, growingMilliCpu: 420, peakMiB: 579 },
      { process: 'profile single', nodes: 500, pods: 500, growingMilliCpu: 396, peakMiB: 874 },
    ],
  },
  {
    bench: 'planner',
    date: '2026-11-23',
    commit: 'a08653e',
    rows: [{ process: 'joiner-planner', nodes: 5000, pods: 100_000, peakMiB: 765 }],
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
    taken.map((row) => [
      roles[row.process],
      row.nodes.toLocaleString('en'),
      row.pods.toLocaleString('en'),
      amount(row.growingMilliCpu, 'm'),
      amount(row.restMilliCpu, 'm'),
      amount(row.peakMiB, ' MiB'),
      amount(row.restMiB, ' MiB'),
      `\`${bench}\`, ${date}, commit ${commit}`,
    ]),
  )
  return alignedTable(columns, rows)
}

function amount(count: number | undefined, unit: string): string {
  return count === undefined ? '' : `${count.toLocaleString('en')}${unit}`
}
