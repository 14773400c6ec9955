import { forEachOf } from '../../activities/concurrency.ts'
import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { Prices } from '../../test/proofs/solver-cost.ts'
import { isTrue, type Seen, World } from '../../test/world.ts'
import { circumstances, seconds, table } from '../report.ts'
import { cpuBetween, type Usage, usages } from '../usage.ts'
import { apps, type Demand, demands, hours, isSpot, madeIn, nameOf, requestOf } from './demand.ts'
import { decisions, type Histogram, percentileBetween } from './planner-metrics.ts'

export interface DayOptions {
  /** How many pods are made in all. */
  readonly pods: number
  /** How long an hour lasts, in seconds. */
  readonly hourSeconds: number
}

/** Azure takes every third spot VM back. */
const spotWaves = [8, 13, 20]
const rolloutHour = 17
/** Requests of this benchmark at once. */
const atOnce = 16
/** Hours at whose end the cost is compared with that of an empty cluster. */
const costHours = [6, 12, 16, 22]
const planners = ['joiner-planner', 'joiner-planner-2'] as const
const sizes = { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['4', '8'] }

/** A reading at the end of an hour. */
interface Reading {
  readonly usage: ReadonlyMap<string, Usage>
  readonly decided: Histogram
  readonly nodes: number
  readonly pods: number
  readonly waiting: number
  /** USD an hour of the nodes, and of those that a solver would buy for the same pods. */
  readonly cost?: { readonly nodes: number; readonly ideal: number }
  readonly what: readonly string[]
}

/**
 * A day of a cluster in so many minutes: demand rises and falls, apps are deployed anew, Azure takes spot VMs back, and a template changes. Joiner runs
 * as in the chart, with two planners. Prints a row for each third hour, and what is left at the end. Errors: something is left.
 */
export async function day(options: DayOptions): Promise<void> {
  const world = await World.start()
  try {
    startJoiner(world)
    const plan = demands(options.pods)
    await begin(world)
    const prices = await Prices.read(world)
    const before = await read(world)
    const readings: Reading[] = []
    for (const [hour, demand] of plan.entries()) {
      readings.push(await passHour({ world, prices }, { hour, demand, hourSeconds: options.hourSeconds }))
      console.error(`hour ${hour}: ${readings.at(-1)?.nodes} nodes, ${readings.at(-1)?.pods} pods run`)
    }
    const downMs = await end(world)
    console.log(report({ options, before, readings, plan, downMs, ...(await whatIsLeft(world)) }))
  } finally {
    await world.stop()
  }
}

/** A process for each Deployment of the chart, and the planner that stands by. */
function startJoiner(world: World): void {
  world.startApart()
  const spec = world.installation.apartSpecs().find(({ name }) => name === planners[0])
  if (spec === undefined) throw new Error(`the chart has no Deployment ${planners[0]}`)
  const [, second] = planners
  world.cluster.supervisor.start({ ...spec, name: second, env: { ...spec.env, JOINER_IDENTITY: second } })
}

async function begin(world: World): Promise<void> {
  const pool = (name: string, capacityType: string) => {
    const capacity = { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] }
    const made = nodePool({ name, consolidateAfter: '30s', budget: '20%', requirements: [sizes, capacity] })
    const disruption = { ...made.spec.disruption, consolidationPolicy: 'WhenEmptyOrUnderutilized' }
    return { ...made, spec: { ...made.spec, disruption } }
  }
  const deployments = Array.from({ length: apps }, (_, app) =>
    deployment({
      name: nameOf(app),
      cpu: `${requestOf(app)}m`,
      nodeSelector: { 'karpenter.sh/nodepool': isSpot(app) ? 'spot' : 'general' },
    }),
  )
  await world.operator.simulator('POST', '/settings', { evictions: { noticeMs: 30_000 } })
  await world.apply(pool('general', 'on-demand'), pool('spot', 'spot'), nodeClass(), ...deployments)
  for (const name of ['general', 'spot']) await world.untilReady(name)
}

interface HourInput {
  readonly hour: number
  readonly demand: Demand
  readonly hourSeconds: number
}

async function passHour(
  { world, prices }: { readonly world: World; readonly prices: Prices },
  { hour, demand, hourSeconds }: HourInput,
): Promise<Reading> {
  const endsMs = Date.now() + hourSeconds * 1000
  const what: string[] = []
  await forEachOf([...demand.replicas.entries()], atOnce, ([app, replicas]) => patchApp(world, app, { replicas }))
  await forEachOf(demand.rollouts, atOnce, (app) =>
    patchApp(world, app, { template: { metadata: { annotations: { deployed: `hour ${hour}` } } } }),
  )
  if (spotWaves.includes(hour)) {
    const nodes = (await world.list('nodes')).filter(
      ({ metadata }) => metadata.labels?.['karpenter.sh/capacity-type'] === 'spot',
    )
    const taken = nodes.filter((_, at) => at % 3 === 0).map(({ metadata }) => metadata.name)
    await forEachOf(taken, atOnce, (vm) => world.operator.simulator('POST', `/vms/${vm}/evict`, {}))
    what.push(`Azure takes ${taken.length} spot VMs back`)
  }
  if (hour === rolloutHour) {
    const template = { metadata: { labels: { rollout: 'today' } } }
    await world.operator.api('PATCH', '/apis/karpenter.sh/v1/nodepools/general', { spec: { template } })
    what.push('the template of general changes')
  }
  const isCompared = costHours.includes(hour)
  const spareMs = isCompared ? 5000 : 1000
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, endsMs - spareMs - Date.now())))
  return { ...(await read(world, isCompared ? prices : undefined)), what }
}

async function patchApp(world: World, app: number, spec: object): Promise<void> {
  await world.operator.api('PATCH', `/apis/apps/v1/namespaces/default/deployments/${nameOf(app)}`, { spec })
}

async function read(world: World, prices?: Prices): Promise<Omit<Reading, 'what'>> {
  const [nodes, pods] = [await world.list('nodes'), await world.list('pods')]
  const isRunning = ({ status }: Seen) => status?.phase === 'Running' && isTrue({ status } as Seen, 'Ready')
  const costs = nodes.map(({ metadata }) => prices?.ofNode(metadata.labels) ?? 0)
  return {
    usage: await usages(world.cluster.supervisor.pids),
    decided: await decisions(world, planners),
    nodes: nodes.length,
    pods: pods.filter(isRunning).length,
    waiting: pods.filter(({ spec }) => spec.nodeName === undefined).length,
    ...(prices && {
      cost: {
        nodes: costs.reduce((sum, cost) => sum + cost, 0),
        ideal: (await prices.onEmptyCluster()).cost,
      },
    }),
  }
}

/** All apps end. Returns how long it takes until no node is left, in milliseconds. */
async function end(world: World): Promise<number> {
  const startMs = Date.now()
  await forEachOf([...Array(apps).keys()], atOnce, (app) => patchApp(world, app, { replicas: 0 }))
  await world.until('no node is left', async () => (await world.list('nodeclaims')).length === 0, 1_200_000)
  return Date.now() - startMs
}

interface Left {
  readonly lifecycles: number
  readonly events: readonly number[]
  readonly commands: number
  readonly open: number
  readonly vms: number
}

async function whatIsLeft(world: World): Promise<Left> {
  const running = "ExecutionStatus = 'Running'"
  // The list lags behind the lifecycles by some seconds.
  const open = await world
    .until('no lifecycle is open', async () => (await world.lifecycles(running)).length === 0 && { open: 0 }, 60_000)
    .catch(async () => ({ open: (await world.lifecycles(running)).length }))
  const all = await world.lifecycles()
  return {
    lifecycles: all.length,
    events: all.map(({ events }) => events).toSorted((a, b) => a - b),
    commands: (await world.temporal.workflow.count("WorkflowType = 'disruptionCommand'")).count,
    open: open.open,
    vms: (await world.azure()).virtualMachines.length,
  }
}

interface Ended extends Left {
  readonly options: DayOptions
  readonly plan: readonly Demand[]
  readonly before: Omit<Reading, 'what'>
  readonly readings: readonly Reading[]
  readonly downMs: number
}

function report({ options, plan, before, readings, downMs, lifecycles, events, commands, open, vms }: Ended): string {
  if (open !== 0 || vms !== 0) process.exitCode = 1
  const head = [
    'hour',
    'nodes',
    'pods running; waiting',
    'pod to decision: median, 90 %, 99 %',
    'cores: Joiner; Temporal; all',
    'RSS: controller, azure, planners, Temporal, API server',
    'cost; ideal',
    '',
  ]
  const rows = Array.from({ length: hours / 3 }, (_, third) => rowOf(third * 3, { before, readings, options }))
  return [
    `### A day, ${circumstances()}`,
    '',
    `${madeIn(plan)} pods are made in 24 hours of ${options.hourSeconds} s.`,
    '',
    table(head, rows),
    '',
    `${lifecycles} lifecycles with ${events[Math.floor(events.length / 2)] ?? 0} events in the median, ${events.at(-1) ?? 0} at most; ${commands} disruption commands. After the last hour all apps ended: no node was left after ${seconds(downMs)}. Open lifecycles without a NodeClaim: ${open}, VMs left: ${vms}.`,
  ].join('\n')
}

/** A row for three hours, as they ended. */
function rowOf(
  first: number,
  { before, readings, options }: Pick<Ended, 'before' | 'readings' | 'options'>,
): readonly string[] {
  const earlier = first === 0 ? before : (readings[first - 1] as Reading)
  const own = readings.slice(first, first + 3)
  const last = own.at(-1) as Reading
  const cpu = cpuBetween(earlier.usage, last.usage)
  const coresOf = (isCounted: (name: string) => boolean) =>
    (
      cpu.reduce((sum, [name, used]) => (isCounted(name) ? sum + used : sum), 0) /
      (own.length * options.hourSeconds)
    ).toFixed(2)
  const rss = ['joiner', 'joiner-azure', ...planners, 'temporal', 'kube-apiserver'].map((name) =>
    (last.usage.get(name)?.rssMiB ?? 0).toFixed(0),
  )
  const percentiles = [0.5, 0.9, 0.99].map((share) => percentileBetween(earlier.decided, last.decided, share))
  const priced = own.flatMap(({ cost }) => cost ?? [])
  return [
    `${first} to ${first + 2}`,
    String(last.nodes),
    `${last.pods}; ${last.waiting}`,
    percentiles.map((bound) => (bound === undefined ? '-' : `≤ ${bound} s`)).join(', '),
    [coresOf((name) => name.startsWith('joiner')), coresOf((name) => name === 'temporal'), coresOf(() => true)].join(
      '; ',
    ),
    `${rss.join(', ')} MiB`,
    priced.map(({ nodes, ideal }) => `${nodes.toFixed(2)}; ${ideal.toFixed(2)}`).join(' and '),
    own.flatMap(({ what }) => what).join(', '),
  ]
}
