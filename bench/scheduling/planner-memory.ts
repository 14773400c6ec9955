import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { type EvaluationThreadRequest, SolverThread } from '../../activities/scheduler-thread/solver-thread.ts'
import { workerThread } from '../../activities/scheduler-thread/supervised-thread.ts'
import type { InstanceTypeJson } from '../../api/shapes/scenario.ts'
import { neverFirst } from '../../core/disruption/methods/context.ts'
import { instanceTypes } from '../../starter/files/catalog.ts'
import { collectAllThreads } from '../../workers/telemetry/idle-memory.ts'
import { table } from '../report.ts'
import { outputOf } from '../run-to-end.ts'
import { runningCluster } from '../workloads/running-cluster.ts'
import type { Scenario } from '../workloads/scenario.ts'
import { entering } from './entering.ts'

const nodes = 5000
const rounds = 3
/** The chart's limit for a planner. Node and the threads (`supervised-thread.ts`) take their share of it as the limit of a heap. */
const limitMiB = 1536
const changesPerSecond = 50
const watchedSeconds = 20

interface Row {
  readonly what: string
  readonly mebibytes: number
}

interface Measured {
  readonly rows: readonly Row[]
  readonly evaluationMs: readonly number[]
  /** Cores that changes of pods take. */
  readonly cores: number
}

/** Runs this file in a process of its own, with the settings of the image, and returns a table of its memory. */
export async function plannerMemory(): Promise<string> {
  const flags = ['--min-semi-space-size=4', '--max-semi-space-size=16', `--max-old-space-size=${limitMiB / 2}`]
  const args = ['MALLOC_ARENA_MAX=2', process.execPath, ...flags, fileURLToPath(import.meta.url)]
  const { out } = await outputOf('env', args)
  const { rows, evaluationMs, cores } = JSON.parse(out) as Measured
  return [
    table(
      ['a planner with 5,000 nodes and 100,000 pods that all could be consolidated', 'RSS'],
      rows.map(({ what, mebibytes }) => [what, `${mebibytes} MiB`]),
    ),
    '',
    `Each evaluation took ${evaluationMs.map((ms) => `${(ms / 1000).toFixed(1)} s`).join(', ')}. ${changesPerSecond} changed pods a second take ${cores.toFixed(2)} cores in cache and threads.`,
  ].join('\n')
}

/** The running cluster, where consolidation may take every node. */
function consolidatable(): Scenario {
  const scenario = runningCluster(nodes)
  const condition = { type: 'Consolidatable', status: 'True', lastTransitionTime: scenario.now }
  const disruption = {
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '0s',
    budgets: [{ nodes: '10%' }],
  }
  const objects = scenario.objects.map((object) => {
    if (object.kind === 'NodePool') return { ...object, spec: { ...object.spec, disruption } }
    if (object.kind !== 'NodeClaim') return object
    const status = object.status as { readonly conditions: readonly unknown[] }
    return { ...object, status: { ...status, conditions: [...status.conditions, condition] } }
  })
  return { ...scenario, objects }
}

const status = (field: string) =>
  Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024)

async function atRest(): Promise<number> {
  // The second collection frees what the first one's finalizers released.
  await collectAllThreads()
  await collectAllThreads()
  return status('VmRSS')
}

async function measure(): Promise<Measured> {
  // What a process loads beside what is measured.
  await import('../../workers/joiner-process.ts')
  const log = pino({ level: 'error' })
  const rows: Row[] = [{ what: 'the process, without a cluster', mebibytes: await atRest() }]
  const note = async (what: string) => rows.push({ what, mebibytes: await atRest() })
  const scenario = consolidatable()
  await note("... with this benchmark's own copy of the cluster")
  const cache = new ClusterCache({} as never, log)
  const enter = entering(cache, scenario)
  for (const object of scenario.objects) enter(object as unknown as Json)
  await note('... and the watch cache')
  const threads = { start: workerThread({ heapMiB: 0.4 * limitMiB }) }
  const [solver, evaluator] = [new SolverThread(cache, log, threads), new SolverThread(cache, log, threads)]
  const types = new Map([['default', instanceTypes(scenario.instanceTypes as readonly InstanceTypeJson[])]])
  const now = Date.parse(scenario.now)
  const common = { now, instanceTypes: types, options: {}, defaultSpread: [] }
  await solver.plan({ ...common, timeLimitMs: 60_000, leftOut: new Set(), apart: new Map() })
  await note("... and the scheduler's thread")
  const request: EvaluationThreadRequest = {
    ...common,
    nominated: new Set(),
    pauses: [],
    staticCapacity: false,
    spotToSpot: false,
    terminateFirst: neverFirst,
    imageTrials: new Map(),
  }
  const evaluationMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startMs = performance.now()
    await evaluator.evaluate(request)
    evaluationMs.push(performance.now() - startMs)
  }
  rows.push({ what: `... and the thread of disruption, after ${rounds} evaluations`, mebibytes: status('VmRSS') })
  const cores = await coresOfChanges(scenario, enter)
  await note('the same once idle')
  rows.push({ what: 'most at any time', mebibytes: status('VmHWM') })
  await Promise.all([solver.stop(), evaluator.stop()])
  return { rows, evaluationMs, cores }
}

async function coresOfChanges(scenario: Scenario, enter: (object: Json) => void): Promise<number> {
  const pods = scenario.objects.filter(({ kind }) => kind === 'Pod')
  const cpu = process.cpuUsage()
  const startMs = performance.now()
  for (let at = 0; at < watchedSeconds * changesPerSecond; at++) {
    enter(pods[(at * 97) % pods.length] as unknown as Json)
    const ahead = startMs + ((at + 1) * 1000) / changesPerSecond - performance.now()
    if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead))
  }
  const { user, system } = process.cpuUsage(cpu)
  return (user + system) / 1000 / (performance.now() - startMs)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(JSON.stringify(await measure()))
  process.exit(0)
}
