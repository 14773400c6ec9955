import { performance } from 'node:perf_hooks'
import { pino } from 'pino'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import type { ThreadPlan } from '../../activities/scheduler-thread/keyed-plan.ts'
import { SolverThread, type ThreadRequest } from '../../activities/scheduler-thread/solver-thread.ts'
import type { InstanceTypeJson } from '../../api/shapes/scenario.ts'
import { instanceTypes } from '../../starter/files/catalog.ts'
import { circumstances, table } from '../report.ts'
import { largeCluster } from '../workloads/azure-workloads.ts'
import type { Scenario } from '../workloads/scenario.ts'
import { entering } from './entering.ts'
import { plannerMemory } from './planner-memory.ts'
import { type PlannerPasses, plannerPasses } from './planner-pass.ts'

const passes = 20
/** How much of the cluster changes from one pass to the next. */
const changedShare = 0.01

/**
 * The planner's scheduler in its thread, on a large cluster that hardly changes: from the request to the plan. Everything is as it is in a
 * planner, but that the watch events are made up.
 */
export async function planner(): Promise<void> {
  const scenario = largeCluster()
  const cache = new ClusterCache({} as never, pino({ level: 'silent' }))
  const thread = new SolverThread(cache, pino({ level: 'error' }))
  try {
    const enter = entering(cache, scenario)
    const startedAt = performance.now()
    for (const object of scenario.objects) enter(object as unknown as Json)
    const request = requestFor(scenario)
    const first = await thread.plan(request)
    const coldMs = performance.now() - startedAt
    const bound = scenario.objects.filter(({ kind, spec }) => kind === 'Pod' && spec['nodeName'] !== undefined)
    const rounds: (ThreadPlan & { readonly totalMs: number })[] = []
    for (let pass = 0; pass < passes; pass++) {
      for (let at = 0; at < bound.length * changedShare; at++)
        enter(bound[(pass * 1009 + at * 97) % bound.length] as unknown as Json)
      // In a planner changes reach the thread as they come.
      await new Promise((resolve) => setImmediate(resolve))
      await thread.idle()
      const askedAt = performance.now()
      const plan = await thread.plan(request)
      rounds.push({ ...plan, totalMs: performance.now() - askedAt })
    }
    report(scenario, coldMs, first, rounds)
    await thread.stop()
    reportPasses(await plannerPasses(scenario, changedShare))
    console.log(`\n${await plannerMemory()}`)
  } finally {
    await thread.stop()
  }
}

function report(
  { description }: Scenario,
  coldMs: number,
  first: ThreadPlan,
  rounds: readonly (ThreadPlan & { readonly totalMs: number })[],
): void {
  const figures = (of: (one: (typeof rounds)[number]) => number) => {
    const sorted = rounds.map(of).toSorted((a, b) => a - b)
    return [sorted[Math.floor(sorted.length / 2)], sorted[0], sorted.at(-1)].map((value) => (value ?? 0).toFixed(0))
  }
  console.log(`### A warm pass in the planner, ${circumstances()}\n`)
  console.log(
    table(
      ['ms', 'median', 'least', 'most'],
      [
        ['from request to plan', ...figures(({ totalMs }) => totalMs)],
        ['of it snapshot', ...figures(({ snapshotMs }) => snapshotMs)],
        ['of it plan', ...figures(({ solveMs }) => solveMs)],
      ],
    ),
  )
  const placed = first.existing.reduce((sum, { pods }) => sum + pods.length, 0)
  console.log(
    `\n${description}; ${passes} passes, ${changedShare * 100} % of the running pods changed before each. Pods placed: ${placed} on nodes, ` +
      `${first.newNodeClaims.length} new NodeClaims, ${first.unschedulable.length} without a place. Cold, with reading all objects: ` +
      `${(coldMs / 1000).toFixed(1)} s. Memory of the process: ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB.`,
  )
}

function reportPasses({ times, lists }: PlannerPasses): void {
  const [median, least, most] = [times[Math.floor(times.length / 2)], times[0], times.at(-1)].map((ms) =>
    (ms ?? 0).toFixed(0),
  )
  console.log(
    `\n${table(
      ['ms', 'median', 'least', 'most', 'lists'],
      [
        [
          'from a pending pod in the cache to its NodeClaim created',
          String(median),
          String(least),
          String(most),
          String(lists),
        ],
      ],
    )}\n\nWhole passes of the activity on the same cluster, without the batch window; the API server answers at once.`,
  )
}

function requestFor(scenario: Scenario): ThreadRequest {
  const types = instanceTypes(scenario.instanceTypes as readonly InstanceTypeJson[])
  return {
    now: Date.parse(scenario.now),
    instanceTypes: new Map([['default', types]]),
    options: {},
    defaultSpread: [],
    timeLimitMs: 60_000,
    leftOut: new Set(),
    apart: new Map(),
  }
}
