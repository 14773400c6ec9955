import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ClusterServer, type Hostile } from './hostile-pods-server.ts'
import { circumstances, seconds, table } from './report.ts'
import { hostileCluster } from './workloads/hostile-cluster.ts'
import { hostileShapes } from './workloads/hostile-pods.ts'

/** What a planner needed, by pass. */
export interface PlannerFigures {
  readonly passMs: readonly number[]
  /** Of it, reading what is new from the API server. */
  readonly readMs: readonly number[]
  readonly evaluateMs: readonly number[]
  /** Innocent pods for which every pass had a place. */
  readonly innocents: number
  readonly peakMiB: number
}

const planner = fileURLToPath(new URL('./hostile-pods-planner.ts', import.meta.url))
/** A planner that has not answered by then never will. */
const timeoutMs = 300_000

/**
 * The largest pods that the API server takes, of every expensive shape, one and a hundred of them, waiting and running: what they add to a pass, to
 * an evaluation of disruption and to the memory of a planner. Reads and watches included; a process of its own for each line.
 */
export async function hostilePods(names: readonly string[]): Promise<void> {
  const shapes = hostileShapes.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)))
  const without = await measure(undefined)
  console.log(`### Hostile pods, ${circumstances()}\n`)
  console.log(`${hostileCluster().description}. Without hostile pods: ${text(without)}\n`)
  const rows: string[][] = []
  for (const shape of shapes)
    for (const [count, isRunning] of [
      [1, false],
      [100, false],
      [100, true],
    ] as const) {
      const found = await measure({ shape, count, isRunning }).catch((error: unknown) => String(error).slice(0, 200))
      rows.push([shape.name, `${count} that ${isRunning ? 'run' : 'wait'}`, ...cells(found, without)])
      process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`)
    }
  console.log(
    table(
      ['shape', 'pods', 'added to a pass (of it reading)', 'to an evaluation', 'to peak RSS', 'innocents placed'],
      rows,
    ),
  )
}

function cells(found: PlannerFigures | string, without: PlannerFigures): readonly string[] {
  if (typeof found === 'string') return [found, '', '', '']
  return [
    `${seconds(worst(found.passMs) - worst(without.passMs))} (${seconds(worst(found.readMs) - worst(without.readMs))})`,
    seconds(worst(found.evaluateMs) - worst(without.evaluateMs)),
    `${(found.peakMiB - without.peakMiB).toFixed(0)} MiB`,
    String(found.innocents),
  ]
}

const worst = (figures: readonly number[]) => Math.max(...figures)

function text({ passMs, evaluateMs, peakMiB, innocents }: PlannerFigures): string {
  return `a pass ${seconds(worst(passMs))}, an evaluation ${seconds(worst(evaluateMs))}, peak RSS ${peakMiB.toFixed(0)} MiB, ${innocents} placed.`
}

/** Runs a planner on the cluster with these pods. Errors: it failed, or did not answer in time. */
export async function measure(hostile: Hostile | undefined): Promise<PlannerFigures> {
  const server = new ClusterServer(hostileCluster(), hostile)
  try {
    const args = [planner, await server.start(), String(hostile?.count ?? 0)]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: timeoutMs, killSignal: 'SIGKILL' })
    return JSON.parse(stdout) as PlannerFigures
  } finally {
    server.stop()
  }
}
