// A planner without Joiner around it, on a cluster that another process serves; see hostile-pods.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { Agent } from 'undici'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { SolverThread } from '../../activities/scheduler-thread/solver-thread.ts'
import type { InstanceTypeJson } from '../../api/shapes/scenario.ts'
import { neverFirst } from '../../core/disruption/methods/context.ts'
import { instanceTypes } from '../../starter/cli/simulate/instance-types.ts'
import { hostileCluster } from '../workloads/hostile-cluster.ts'
import type { PlannerFigures } from './hostile-pods.ts'

const [server = '', hostile = '0'] = process.argv.slice(2)
const client = new KubernetesClient({ server, connect: () => new Agent(), token: () => '' })
const log = pino({ level: 'error' }, process.stderr)
const cache = new ClusterCache(client, log, { roles: ['planner'] })
const solver = new SolverThread(cache, log)
const evaluator = new SolverThread(cache, log)
const scenario = hostileCluster()
const request = {
  now: Date.parse(scenario.now) + 3_600_000,
  instanceTypes: new Map([['default', instanceTypes(scenario.instanceTypes as readonly InstanceTypeJson[])]]),
  options: {},
  defaultSpread: [],
}

async function figures(): Promise<PlannerFigures> {
  cache.start()
  solver.start()
  evaluator.start()
  await cache.synced()
  const isChanged = () =>
    [...cache.pods.values()].filter(
      ({ metadata: { name, resourceVersion } }) => name.startsWith('hostile') && resourceVersion === '2',
    )
  while (isChanged().length < Number(hostile)) await sleep(20)
  const passes = []
  for (let pass = 0; pass < 3; pass++) passes.push(await onePass())
  return {
    passMs: passes.map(({ passMs }) => passMs),
    readMs: passes.map(({ readMs }) => readMs),
    evaluateMs: passes.map(({ evaluateMs }) => evaluateMs),
    innocents: Math.min(...passes.map(({ innocents }) => innocents)),
    peakMiB: process.resourceUsage().maxRSS / 1024,
  }
}

/** As the provisioning and the disruption loop do it. */
async function onePass() {
  const askedAt = performance.now()
  await cache.catchUp(['Pod', 'Node', 'NodeClaim'])
  const readAt = performance.now()
  const { newNodeClaims, existing } = await solver.plan({
    ...request,
    timeLimitMs: 60_000,
    leftOut: new Set(),
    apart: new Map(),
  })
  const plannedAt = performance.now()
  await evaluator.evaluate({
    ...request,
    nominated: new Set(),
    pauses: [],
    staticCapacity: false,
    spotToSpot: false,
    terminateFirst: neverFirst,
  })
  const placed = [...newNodeClaims, ...existing].flatMap(({ pods }) => pods)
  return {
    passMs: plannedAt - askedAt,
    readMs: readAt - askedAt,
    evaluateMs: performance.now() - plannedAt,
    innocents: placed.filter(({ metadata: { name } }) => name.startsWith('innocent')).length,
  }
}

process.stdout.write(`${JSON.stringify(await figures())}\n`, () => process.exit())
