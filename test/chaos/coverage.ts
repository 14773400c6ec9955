import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { table } from '../../bench/report.ts'
import { Random } from '../../bench/workloads/random.ts'
import type { ChaosRun, Work } from './run.ts'
import { drawnNames } from './troubles.ts'

/** Of all troubles that came about each kind must be this share at least, or the seeds say nothing about it. */
const leastShare = 0.01

/** What runs covered, together. */
export interface Coverage {
  /** How often what happened, by name. */
  readonly counts: ReadonlyMap<string, number>
  /** Kinds of troubles that came about too rarely. */
  readonly rare: readonly string[]
  /** Processor time of a run in the middle, in ms. */
  readonly medianMs: number
  /** What happened in a simulated hour. */
  readonly hourly: Work
}

/** Sums up what runs covered. */
export function coverageOf(runs: readonly ChaosRun[]): Coverage {
  const counts = new Map<string, number>()
  for (const run of runs) for (const [name, count] of run.counts) counts.set(name, (counts.get(name) ?? 0) + count)
  const names = [...drawnNames(new Random(1))]
  const all = names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0)
  // A kind that is many names, such as kills by step, is one of them all.
  const kinds = Map.groupBy(names, (name) => kindOf(name))
  const rare = [...kinds].filter(
    ([, own]) => own.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0) < leastShare * all,
  )
  const times = runs.map(({ cpuMs }) => cpuMs).toSorted((a, b) => a - b)
  return {
    counts,
    rare: rare.map(([kind]) => kind),
    medianMs: times[Math.floor(times.length / 2)] ?? 0,
    hourly: hourlyOf(runs),
  }
}

/** What the seeds of `npm test` are, and how much happened in an hour of them. */
interface KeptWork {
  readonly seeds: readonly number[]
  readonly hourly: Work
}

export const workFile = fileURLToPath(new URL('work.json', import.meta.url))

/** How much the repository says that happens. */
export async function keptWork(): Promise<KeptWork> {
  return JSON.parse(await readFile(workFile, 'utf8')) as KeptWork
}

function hourlyOf(runs: readonly ChaosRun[]): Work {
  const hours = runs.reduce((sum, { simulatedMs }) => sum + simulatedMs, 0) / 3_600_000
  const mean = (of: keyof Work) => Math.round(runs.reduce((sum, { work }) => sum + work[of], 0) / hours)
  return { timers: mean('timers'), requests: mean('requests'), activations: mean('activations') }
}

/** The coverage as a table. */
export function coverageTable({ counts }: Coverage): string {
  const rows = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => [name, String(count)])
  return table(['what', 'times'], rows)
}

/** The first word, or the two of a name that begins with what it is done to. */
function kindOf(name: string): string {
  const [first = '', second = ''] = name.split(' ')
  return first === 'api' || first === 'azure' ? `${first} ${second}` : first
}
