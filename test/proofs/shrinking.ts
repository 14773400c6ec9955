import { nodeClass, nodePool } from '../applied-objects.ts'
import type { World } from '../world.ts'
import {
  budgetsBelow,
  commandsOver,
  type FleetMoment,
  fleetOver,
  type Health,
  healthSince,
  isTrue,
  type SeenCommand,
} from './disruption-proofs.ts'
import { Prices } from './solver-cost.ts'
import { dedicatedKey, demandOf, objectsOf, type SpreadWorkload } from './spread-workloads.ts'
import { Witness } from './witness.ts'

export interface ShrinkOptions {
  readonly nodes: number
  /** The NodePool's budget. */
  readonly budget: string
  /** How far above the solver's cost the cluster may end. */
  readonly within: number
  readonly limitMs: number
  readonly consolidateAfter: string
  /** How long nothing may happen before the end is believed. */
  readonly quietMs: number
}

export interface ShrinkReport {
  readonly startMs: number
  readonly before: { readonly nodes: number; readonly cost: number; readonly pods: number }
  /** What the solver gives for the same pods on an empty cluster. */
  readonly solver: { readonly nodes: number; readonly cost: number }
  readonly after: { readonly nodes: number; readonly cost: number }
  /** From when consolidation was allowed until the cost came within the bound for good; undefined: it did not. */
  readonly reachedMs: number | undefined
  readonly fleet: readonly FleetMoment[]
  readonly commands: readonly SeenCommand[]
  readonly health: readonly Health[]
  /** PodDisruptionBudgets that counted too few pods themselves. */
  readonly below: readonly { readonly name: string }[]
}

const requirements = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
  { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2', '4', '8', '16'] },
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
  { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['westus2-1', 'westus2-2', 'westus2-3'] },
]

/** Services of a busy hour that fill so many nodes, since `web` asks for a node for each pod. */
function busy(nodes: number): readonly SpreadWorkload[] {
  return [
    { name: 'web', replicas: nodes, cpu: '1', memory: '1Gi', spread: 'both', budget: { maxUnavailable: 1 } },
    { name: 'api', replicas: nodes, cpu: '1', memory: '2Gi', spread: 'zone', budget: { minAvailable: '80%' } },
    {
      name: 'cache',
      replicas: nodes / 2,
      cpu: '500m',
      memory: '4Gi',
      spread: 'hostname',
      budget: { maxUnavailable: 1 },
    },
    { name: 'worker', replicas: nodes, cpu: '500m', memory: '1Gi', spread: 'zone' },
  ]
}

/** The same services of a quiet hour: fewer pods, some of them smaller. */
function quiet(nodes: number): readonly SpreadWorkload[] {
  const size = {
    web: { replicas: nodes / 4 },
    api: { cpu: '300m', memory: '512Mi' },
    cache: { replicas: nodes / 6 },
    worker: { replicas: nodes / 2 },
  }
  return busy(nodes).map((workload) => ({ ...workload, ...size[workload.name as keyof typeof size] }))
}

/**
 * Makes a cluster of so many nodes by asking for much, asks for less while nothing may be consolidated, then allows it and watches what becomes of
 * nodes, costs and pods. Errors: the cluster does not come about, or a pod runs nowhere at the end; that it stops shrinking early is no error.
 */
export async function shrink(
  world: World,
  options: ShrinkOptions,
  log: (line: string) => void = () => {},
): Promise<ShrinkReport> {
  const { nodes, budget, limitMs, consolidateAfter } = options
  await world.apply(savingPool('general', budget, 'Never'), nodeClass(), ...busy(nodes).flatMap(objectsOf))
  await world.untilReady('general')
  const witness = await Witness.start(world)
  try {
    await untilHealthy(world, witness, busy(nodes), limitMs)
    log(`${witness.now('node').length} nodes for ${witness.now('pod').length} pods`)
    await world.apply(...quiet(nodes).flatMap(objectsOf))
    await untilHealthy(world, witness, quiet(nodes), limitMs)
    const prices = await Prices.read(world)
    const solver = await prices.onEmptyCluster()
    const since = witness.moments().at(-1)?.revision ?? 0
    const before = { ...fleetNow(witness, prices), pods: witness.now('pod').length }
    log(`asked for less: ${picture(before)}; the solver: ${picture(solver)}`)
    const startMs = Date.now()
    await world.apply(savingPool('general', budget, consolidateAfter))
    const bound = solver.cost * (1 + options.within)
    await untilSettled(witness, prices, { ...options, bound, startMs }, log)
    await untilHealthy(world, witness, quiet(nodes), limitMs)
    const moments = witness.moments()
    const fleet = fleetOver(moments, (labels) => prices.ofNode(labels)).filter(({ atMs }) => atMs >= startMs)
    const lastAbove = fleet.findLast(({ cost }) => cost > bound)?.atMs ?? startMs
    const after = fleetNow(witness, prices)
    return {
      startMs,
      before,
      solver,
      after,
      reachedMs: after.cost > bound ? undefined : lastAbove - startMs,
      fleet,
      commands: commandsOver(moments),
      health: healthSince(
        moments,
        since,
        quiet(nodes).map((workload) => ({ app: workload.name, healthy: demandOf(workload) })),
      ),
      below: budgetsBelow(moments, since),
    }
  } finally {
    await witness.stop()
  }
}

/** A NodePool of D sizes in named zones that saves money where it can. */
function savingPool(name: string, budget: string, consolidateAfter: string) {
  const { spec, ...plain } = nodePool({ name, requirements, budget, consolidateAfter })
  return {
    ...plain,
    spec: { ...spec, disruption: { ...spec.disruption, consolidationPolicy: 'WhenEmptyOrUnderutilized' } },
  }
}

/** The same, only for workloads that ask for it. */
export function dedicatedPool(name: string, budget: string, consolidateAfter: string) {
  const { spec, ...plain } = savingPool(name, budget, consolidateAfter)
  const taints = [{ key: dedicatedKey, value: name, effect: 'NoSchedule' }]
  return { ...plain, spec: { ...spec, template: { spec: { ...spec.template.spec, taints } } } }
}

/** Waits until exactly the pods of the workloads run, each PodDisruptionBudget counts them, and every node is initialized. */
export async function untilHealthy(
  world: World,
  witness: Witness,
  workloads: readonly SpreadWorkload[],
  ms: number,
): Promise<void> {
  await world.until(
    `the pods of ${workloads.map(({ name, replicas }) => `${replicas} ${name}`).join(', ')} run`,
    async () => {
      const starting = witness.now('nodeClaim').filter((claim) => !isTrue(claim, 'Initialized'))
      const lacks = [
        ...workloads.flatMap((workload) => lacksOf(workload, witness)),
        ...starting.map(({ metadata }) => `${metadata.name} is not initialized`),
      ]
      if (lacks.length > 0) throw new Error(lacks.join('; '))
      return true
    },
    ms,
  )
}

function lacksOf(workload: SpreadWorkload, witness: Witness): readonly string[] {
  const { name, replicas, cpu, budget } = workload
  const pods = witness.now('pod').filter(({ metadata }) => metadata.labels?.['app'] === name)
  const right = pods.filter((pod) => isTrue(pod, 'Ready') && cpuOf(pod) === cpu).length
  const lacks = right === replicas && pods.length === replicas ? [] : [`${right} of ${pods.length} pods of ${name}`]
  if (budget === undefined) return lacks
  const own = witness.now('podDisruptionBudget').find(({ metadata }) => metadata.name === name)?.status
  const isCounted = own?.currentHealthy === replicas && (own.desiredHealthy ?? 0) >= demandOf(workload)
  return isCounted
    ? lacks
    : [...lacks, `its PodDisruptionBudget counts ${own?.currentHealthy} of ${own?.desiredHealthy}`]
}

function cpuOf({ spec }: { readonly spec: object }): string | undefined {
  const { containers } = spec as {
    readonly containers?: readonly { readonly resources?: { readonly requests?: Readonly<Record<string, string>> } }[]
  }
  return containers?.[0]?.resources?.requests?.['cpu']
}

function fleetNow(witness: Witness, prices: Prices): { readonly nodes: number; readonly cost: number } {
  const claims = witness.now('nodeClaim').filter((claim) => isTrue(claim, 'Launched'))
  const cost = claims.reduce((sum, { metadata }) => sum + prices.ofNode(metadata.labels), 0)
  return { nodes: witness.now('node').length, cost }
}

function picture({ nodes, cost }: { readonly nodes: number; readonly cost: number }): string {
  return `${nodes} nodes at ${cost.toFixed(2)} USD an hour`
}

interface Settling extends Pick<ShrinkOptions, 'limitMs' | 'quietMs'> {
  readonly bound: number
  readonly startMs: number
}

/** Watches until the cost is within its bound and nothing has changed for a while, or until the limit. */
async function untilSettled(
  witness: Witness,
  prices: Prices,
  { limitMs, quietMs, bound, startMs }: Settling,
  log: (line: string) => void,
): Promise<void> {
  let [last, changedMs] = ['', startMs]
  while (Date.now() - startMs < limitMs) {
    const fleet = fleetNow(witness, prices)
    const line = picture(fleet)
    if (line !== last) {
      changedMs = Date.now()
      log(`${Math.round((changedMs - startMs) / 1000)} s: ${line}`)
    }
    last = line
    const isQuiet =
      Date.now() - changedMs >= quietMs &&
      witness.now('nodeClaim').every(({ metadata }) => metadata.deletionTimestamp === undefined)
    if (isQuiet && fleet.cost <= bound) return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}
