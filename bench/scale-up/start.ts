import { stringify } from 'yaml'
import { deployment } from '../../test/applied-objects.ts'
import { scale } from '../nodes/scale.ts'
import { type Stage, Timeline } from '../nodes/timeline.ts'
import { circumstances, percentile, seconds, table } from '../report.ts'
import { type Usage, usages } from '../usage.ts'
import { type Contender, joiner, joinerApart } from './contender.ts'
import { Karpenter } from './karpenter.ts'

/** How long a pod may wait for its node. */
const limitMs = 120_000
/** Between two pods: what a start has put off is done by then, and memory is what it stays at. */
const restMs = 15_000

/** How a pod that needs a node came to run, in milliseconds. */
interface Run {
  readonly claimMs: number
  readonly launchedMs: number
  /** Until the Node takes pods; what follows is kube-scheduler's, which tries a pod again after 1, 2 and 4 s. */
  readonly usableMs: number
  readonly runningMs: number
  /** Of the controller's processes together, when the NodeClaim was there, and after a rest. */
  readonly atClaim: Usage
  readonly atRest: Usage
}

/**
 * When the controller is killed, and started at once. `launched`: when the VM was accepted, as its Node shows. `stoodBy`: when the pod is asked for, and
 * another process stands by in place of a start.
 */
type Killed = 'asked' | 'launched' | 'never' | 'stoodBy'

interface Started {
  readonly title: string
  /** In the order of the rounds. */
  readonly runs: Readonly<Record<Killed, Run[]>>
}

/**
 * From `kill -9` and a start at once until a pod that waits has its NodeClaim, its VM and runs, with the processor time and the memory that it takes;
 * beside it a kill behind the launch, a kill while another process stands by, and the same pod by the process once it is warm. The cloud answers a
 * launch with a Node, so that VMs' boots hide nothing. Where the roles have processes of their own, all of them are killed at once.
 */
export async function start({ rounds, peer }: { readonly rounds: number; readonly peer: boolean }): Promise<void> {
  const results = peer ? [await measured(() => Karpenter.start(), rounds)] : []
  for (const begin of [joiner, joinerApart]) results.push(await measured(() => begin('instant'), rounds))
  console.log(
    `### Start and return, instant cloud, ${rounds} kills of each, ${circumstances()}\n\n${report(results)}\n`,
  )
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
    let pods = 0
    const next = (killed: Killed) => runOf(one, ++pods, killed)
    // What a first life compiles and stores is there when a process comes back.
    await next('never')
    const runs: Started['runs'] = { asked: [], launched: [], never: [], stoodBy: [] }
    const ways = ['asked', 'launched', 'never', ...(contender.spare === undefined ? [] : ['stoodBy' as const])] as const
    for (let round = 1; round <= rounds; round++) {
      for (const killed of ways) runs[killed].push(await next(killed))
      console.error(
        `${round} of ${rounds}: a pod runs ${seconds(runs.asked.at(-1)?.runningMs)} after a start, ${seconds(runs.launched.at(-1)?.runningMs)} after a kill behind its launch, ${seconds(runs.never.at(-1)?.runningMs)} after its request`,
      )
    }
    return { title, runs }
  } finally {
    await timeline?.stop()
    await contender.stop()
  }
}

/** Asks for one more pod. Times count from the kill, or from the request where there is none. */
async function runOf(
  { contender, timeline }: { readonly contender: Contender; readonly timeline: Timeline },
  pods: number,
  killed: Killed,
): Promise<Run> {
  const { supervisor } = contender.cluster
  const { controller, besides = [] } = contender
  // Kubernetes may have made a pod of before again, which was counted twice.
  const stages: readonly Stage[] = ['nodeCreated', 'claimCreated', 'claimLaunched', 'nodeUsable', 'podRunning']
  const before = new Map(stages.map((stage) => [stage, timeline.count(stage)]))
  const reached = (stage: Stage) =>
    timeline.until(`${stage} of ${pods}`, () => timeline.count(stage) > (before.get(stage) ?? 0), limitMs)
  const restart = () => Promise.all([controller, ...besides].map((name) => supervisor.restart(name, 'SIGKILL')))
  if (killed === 'stoodBy') await contender.spare?.start()
  let startMs = Date.now()
  const restarting = killed === 'asked' ? restart() : undefined
  const dying = killed === 'stoodBy' ? supervisor.kill(controller, 'SIGKILL') : undefined
  await scale(contender, pods)
  if (killed === 'launched') {
    startMs = await reached('nodeCreated')
    await restart()
  }
  await Promise.all([restarting, dying])
  const working = killed === 'stoodBy' ? [contender.spare?.name ?? ''] : [controller, ...besides]
  const used = async () => {
    const pids = Object.entries(supervisor.pids).filter(([name]) => working.includes(name))
    return together([...(await usages(Object.fromEntries(pids))).values()])
  }
  const since = async (stage: Stage) => {
    await reached(stage)
    return (timeline.last(stage) ?? Number.NaN) - startMs
  }
  const claimMs = await since('claimCreated')
  const atClaim = await used()
  const launchedMs = await since('claimLaunched')
  const usableMs = await since('nodeUsable')
  const runningMs = await since('podRunning')
  await new Promise((resolve) => setTimeout(resolve, restMs))
  const atRest = await used()
  if (killed === 'stoodBy') await contender.spare?.stop()
  return { claimMs, launchedMs, usableMs, runningMs, atClaim, atRest }
}

function together(used: readonly Usage[]): Usage {
  const sum = (of: (usage: Usage) => number) => used.reduce((all, usage) => all + of(usage), 0)
  return {
    cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds),
    peakRssMiB: sum(({ peakRssMiB }) => peakRssMiB),
    rssMiB: sum(({ rssMiB }) => rssMiB),
  }
}

function report(results: readonly Started[]): string {
  const both = (runs: readonly Run[], of: (run: Run) => number, cell: (value: number) => string) =>
    runs.length === 0 ? '' : [50, 90].map((percent) => cell(percentile(runs.map(of), percent))).join('; ')
  const rows: readonly (readonly [string, (runs: Started['runs']) => string])[] = [
    ['start to NodeClaim', ({ asked }) => both(asked, ({ claimMs }) => claimMs, seconds)],
    ['start to launched', ({ asked }) => both(asked, ({ launchedMs }) => launchedMs, seconds)],
    ['start to pod running', ({ asked }) => both(asked, ({ runningMs }) => runningMs, seconds)],
    ['kill behind the launch to Node usable', ({ launched }) => both(launched, ({ usableMs }) => usableMs, seconds)],
    ['kill behind the launch to pod running', ({ launched }) => both(launched, ({ runningMs }) => runningMs, seconds)],
    [
      'kill to pod running, where another process stands by',
      ({ stoodBy }) => both(stoodBy, ({ runningMs }) => runningMs, seconds),
    ],
    ['warm: request to NodeClaim', ({ never }) => both(never, ({ claimMs }) => claimMs, seconds)],
    ['warm: request to launched', ({ never }) => both(never, ({ launchedMs }) => launchedMs, seconds)],
    ['warm: request to pod running', ({ never }) => both(never, ({ runningMs }) => runningMs, seconds)],
    ['start / warm, to launched', ({ asked, never }) => ratio(asked, never, ({ launchedMs }) => launchedMs)],
    ['start / warm, to pod running', ({ asked, never }) => ratio(asked, never, ({ runningMs }) => runningMs)],
    ['CPU until the first NodeClaim', ({ asked }) => both(asked, ({ atClaim }) => atClaim.cpuSeconds * 1000, seconds)],
    [
      `CPU until ${restMs / 1000} s after the pod runs`,
      ({ asked }) => both(asked, ({ atRest }) => atRest.cpuSeconds * 1000, seconds),
    ],
    ['RSS then', ({ asked }) => both(asked, ({ atRest }) => atRest.rssMiB, mebibytes)],
    ['peak RSS', ({ asked }) => both(asked, ({ atRest }) => atRest.peakRssMiB, mebibytes)],
  ]
  return table(
    ['median; 90 %', ...results.map(({ title }) => title)],
    rows.map(([what, cell]) => [what, ...results.map(({ runs }) => cell(runs))]),
  )
}

function ratio(cold: readonly Run[], warm: readonly Run[], of: (run: Run) => number): string {
  return (percentile(cold.map(of), 50) / percentile(warm.map(of), 50)).toFixed(2)
}

function mebibytes(value: number): string {
  return `${value.toFixed(0)} MiB`
}
