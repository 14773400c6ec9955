import { stringify } from 'yaml'
import { deployment } from '../../test/applied-objects.ts'
import { scale } from '../nodes/scale.ts'
import { Timeline } from '../nodes/timeline.ts'
import { circumstances, seconds, table } from '../report.ts'
import { percentile } from '../statistics.ts'
import { type Usage, usages } from '../usage.ts'
import { type Contender, joiner } from './contender.ts'
import { Karpenter } from './karpenter.ts'

/** How long a pod may wait for its node. */
const limitMs = 120_000
/** Between two pods: what a start has put off is done by then, and memory is what it stays at. */
const restMs = 15_000

/** How a pod that needs a node came to run. Times are in milliseconds since it was asked for, or since the process started. */
interface Run {
  readonly claimMs: number
  readonly launchedMs: number
  readonly runningMs: number
  /** Of the controller's process, when the NodeClaim was there, and after a rest. */
  readonly atClaim: Usage
  readonly atRest: Usage
}

interface Started {
  readonly title: string
  readonly cold: readonly Run[]
  readonly warm: readonly Run[]
}

/**
 * From `kill -9` and a start at once until a pod that waits has its NodeClaim, its VM and runs, with the processor time and the memory that it takes;
 * beside it the same pod by the process once it is warm. The cloud answers a launch with a Node, so that VMs' boots hide nothing.
 */
export async function start({ rounds, peer }: { readonly rounds: number; readonly peer: boolean }): Promise<void> {
  const results = peer ? [await measured(() => Karpenter.start(), rounds)] : []
  results.push(await measured(() => joiner('instant'), rounds))
  console.log(`### Start, instant cloud, ${rounds} kills, ${circumstances()}\n\n${report(results)}\n`)
}

async function measured(begin: () => Promise<Contender>, rounds: number): Promise<Started> {
  const contender = await begin()
  const { title } = contender
  let timeline: Timeline | undefined
  try {
    console.error(`${title} ...`)
    await contender.operator.kubectl(['apply', '--server-side', '-f', '-'], stringify(deployment({ apart: true })))
    timeline = await Timeline.start(contender.cluster)
    await contender.begin()
    const one = { contender, timeline }
    // What a first life compiles and stores is there when a process comes back.
    await runOf(one, 1, () => Promise.resolve())
    const [cold, warm]: [Run[], Run[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      const { supervisor } = contender.cluster
      cold.push(await runOf(one, 2 * round + 2, () => supervisor.restart(contender.controller, 'SIGKILL')))
      warm.push(await runOf(one, 2 * round + 3, () => Promise.resolve()))
      console.error(
        `${round + 1} of ${rounds}: a pod runs ${seconds(cold.at(-1)?.runningMs)} after a start, then one after ${seconds(warm.at(-1)?.runningMs)}`,
      )
    }
    return { title, cold, warm }
  } finally {
    await timeline?.stop()
    await contender.stop()
  }
}

/** Asks for one more pod while `before` happens to the controller, which it has begun when it returns its promise. */
async function runOf(
  { contender, timeline }: { readonly contender: Contender; readonly timeline: Timeline },
  pods: number,
  before: () => Promise<void>,
): Promise<Run> {
  const startMs = Date.now()
  const begun = before()
  await scale(contender, pods)
  await begun
  const used = async () => {
    const { [contender.controller]: pid = 0 } = contender.cluster.supervisor.pids
    return [...(await usages({ controller: pid })).values()][0] as Usage
  }
  const since = async (stage: 'claimCreated' | 'claimLaunched' | 'podRunning') => {
    await timeline.until(`${stage} of ${pods}`, () => timeline.count(stage) === pods, limitMs)
    return (timeline.last(stage) ?? Number.NaN) - startMs
  }
  const claimMs = await since('claimCreated')
  const atClaim = await used()
  const launchedMs = await since('claimLaunched')
  const runningMs = await since('podRunning')
  await new Promise((resolve) => setTimeout(resolve, restMs))
  return { claimMs, launchedMs, runningMs, atClaim, atRest: await used() }
}

function report(results: readonly Started[]): string {
  const both = (runs: readonly Run[], of: (run: Run) => number, cell: (value: number) => string) =>
    [50, 90].map((percent) => cell(percentile(runs.map(of), percent))).join('; ')
  const rows: readonly (readonly [string, (started: Started) => string])[] = [
    ['start to NodeClaim', ({ cold }) => both(cold, ({ claimMs }) => claimMs, seconds)],
    ['start to launched', ({ cold }) => both(cold, ({ launchedMs }) => launchedMs, seconds)],
    ['start to pod running', ({ cold }) => both(cold, ({ runningMs }) => runningMs, seconds)],
    ['warm: request to NodeClaim', ({ warm }) => both(warm, ({ claimMs }) => claimMs, seconds)],
    ['warm: request to launched', ({ warm }) => both(warm, ({ launchedMs }) => launchedMs, seconds)],
    ['warm: request to pod running', ({ warm }) => both(warm, ({ runningMs }) => runningMs, seconds)],
    ['start / warm, to launched', ({ cold, warm }) => ratio(cold, warm, ({ launchedMs }) => launchedMs)],
    ['start / warm, to pod running', ({ cold, warm }) => ratio(cold, warm, ({ runningMs }) => runningMs)],
    ['CPU until the first NodeClaim', ({ cold }) => both(cold, ({ atClaim }) => atClaim.cpuSeconds * 1000, seconds)],
    [
      `CPU until ${restMs / 1000} s after it`,
      ({ cold }) => both(cold, ({ atRest }) => atRest.cpuSeconds * 1000, seconds),
    ],
    ['RSS then', ({ cold }) => both(cold, ({ atRest }) => atRest.rssMiB, mebibytes)],
    ['peak RSS', ({ cold }) => both(cold, ({ atRest }) => atRest.peakRssMiB, mebibytes)],
  ]
  return table(
    ['median; 90 %', ...results.map(({ title }) => title)],
    rows.map(([what, cell]) => [what, ...results.map(cell)]),
  )
}

function ratio(cold: readonly Run[], warm: readonly Run[], of: (run: Run) => number): string {
  return (percentile(cold.map(of), 50) / percentile(warm.map(of), 50)).toFixed(2)
}

function mebibytes(value: number): string {
  return `${value.toFixed(0)} MiB`
}
