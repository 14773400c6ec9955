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
    bench: 'sizes',
    date: '2026-11-28',
    commit: '5f902fa1',
    rows: [
      {
        process: 'profile single',
        nodes: 5,
        pods: 5,
        growingMilliCpu: 240,
        restMilliCpu: 37,
        peakMiB: 316,
        restMiB: 248,
      },
      {
        process: 'profile single',
        nodes: 100,
        pods: 100,
        growingMilliCpu: 465,
        restMilliCpu: 76,
        peakMiB: 386,
        restMiB: 290,
      },
      {
        process: 'profile single',
        nodes: 200,
        pods: 200,
        growingMilliCpu: 431,
        restMilliCpu: 78,
        peakMiB: 417,
        restMiB: 365,
      },
      { process: 'joiner', nodes: 5, pods: 5, growingMilliCpu: 75, restMilliCpu: 23, peakMiB: 240, restMiB: 193 },
      { process: 'joiner-azure', nodes: 5, pods: 5, growingMilliCpu: 93, restMilliCpu: 20, peakMiB: 198, restMiB: 173 },
      {
        process: 'joiner-conversion',
        nodes: 5,
        pods: 5,
        growingMilliCpu: 7,
        restMilliCpu: 6,
        peakMiB: 119,
        restMiB: 119,
      },
      {
        process: 'joiner-planner',
        nodes: 5,
        pods: 5,
        growingMilliCpu: 157,
        restMilliCpu: 23,
        peakMiB: 231,
        restMiB: 186,
      },
      { process: 'joiner', nodes: 100, pods: 100, growingMilliCpu: 189, restMilliCpu: 11, peakMiB: 253, restMiB: 238 },
      {
        process: 'joiner-azure',
        nodes: 100,
        pods: 100,
        growingMilliCpu: 200,
        restMilliCpu: 30,
        peakMiB: 237,
        restMiB: 196,
      },
      {
        process: 'joiner-conversion',
        nodes: 100,
        pods: 100,
        growingMilliCpu: 5,
        restMilliCpu: 5,
        peakMiB: 120,
        restMiB: 120,
      },
      {
        process: 'joiner-planner',
        nodes: 100,
        pods: 100,
        growingMilliCpu: 209,
        restMilliCpu: 12,
        peakMiB: 257,
        restMiB: 244,
      },
      { process: 'joiner', nodes: 200, pods: 200, growingMilliCpu: 172, restMilliCpu: 14, peakMiB: 284, restMiB: 264 },
      {
        process: 'joiner-azure',
        nodes: 200,
        pods: 200,
        growingMilliCpu: 165,
        restMilliCpu: 27,
        peakMiB: 237,
        restMiB: 236,
      },
      {
        process: 'joiner-conversion',
        nodes: 200,
        pods: 200,
        growingMilliCpu: 5,
        restMilliCpu: 5,
        peakMiB: 122,
        restMiB: 122,
      },
      {
        process: 'joiner-planner',
        nodes: 200,
        pods: 200,
        growingMilliCpu: 190,
        restMilliCpu: 19,
        peakMiB: 277,
        restMiB: 264,
      },
    ],
  },
  {
    bench: 'scale-up',
    date: '2026-11-28',
    commit: '5f902fa1',
    rows: [{ process: 'profile single', nodes: 500, pods: 500, growingMilliCpu: 415, peakMiB: 770 }],
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
