import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { circumstances, seconds, table } from '../report.ts'
import { hostileCluster } from '../workloads/hostile-cluster.ts'
import { type HostileShape, hostileShapes } from '../workloads/hostile-pods.ts'
import { ClusterServer, type Hostile } from './hostile-pods-server.ts'

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
 * Pods of every expensive shape, waiting and running: what they add to a pass, to an evaluation of disruption and to the memory of a planner, with reading
 * and watching them. They are the largest that the API server takes, one and a hundred of them, or those of which Joiner just looks at all.
 */
export async function hostilePods(names: readonly string[], isTuned: boolean): Promise<void> {
  const shapes = hostileShapes.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)))
  const without = await measure(undefined)
  console.log(`### Hostile pods, ${circumstances()}\n`)
  console.log(`${hostileCluster().description}. Without hostile pods: ${text(without)}\n`)
  const rows: string[][] = []
  for (const hostile of shapes.flatMap((shape) => casesOf(shape, isTuned))) {
    const { shape, size, count, isRunning } = hostile
    const found = await measure(hostile).catch((error: unknown) => String(error).slice(0, 200))
    rows.push([shape.name, String(size), `${count} that ${isRunning ? 'run' : 'wait'}`, ...cells(found, without)])
    process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`)
  }
  const added = ['to a pass (of it reading)', 'to an evaluation', 'to peak RSS']
  console.log(table(['shape', 'size', 'pods', ...added.map((what) => `added ${what}`), 'innocents placed'], rows))
}

function casesOf(shape: HostileShape, isTuned: boolean): readonly Hostile[] {
  const sizes = isTuned ? (shape.tuned ?? []) : [shape.most]
  const hundred = sizes.flatMap((size) => [false, true].map((isRunning) => ({ shape, size, count: 100, isRunning })))
  return isTuned ? hundred : [{ shape, size: shape.most, count: 1, isRunning: false }, ...hundred]
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
async function measure(hostile: Hostile | undefined): Promise<PlannerFigures> {
  const server = new ClusterServer(hostileCluster(), hostile)
  try {
    const args = [planner, await server.start(), String(hostile?.count ?? 0)]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: timeoutMs, killSignal: 'SIGKILL' })
    return JSON.parse(stdout) as PlannerFigures
  } finally {
    server.stop()
  }
}
