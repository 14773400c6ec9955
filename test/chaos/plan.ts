import { Random } from '../../bench/workloads/random.ts'
import { type Trouble, troubleOf } from './troubles.ts'

export interface PlannedPool {
  readonly name: string
  readonly capacityTypes: readonly string[]
  /** vCPUs of its sizes. */
  readonly cpus: readonly string[]
  /** Of its disruption budget. */
  readonly budget: string
  readonly cpuLimit?: number
  /** Of a static one: how many nodes it has, whatever pods want. It may have one more while a node is replaced. */
  readonly nodes?: number
  readonly policy: 'WhenEmpty' | 'WhenEmptyOrUnderutilized'
  readonly consolidateAfter: string
  /** Of its nodes. Unset: never. */
  readonly expireAfter?: string
  /** Of its nodes, for their drains. Unset: as long as PodDisruptionBudgets want. */
  readonly terminationGracePeriod?: string
}

export interface PlannedWorkload {
  readonly name: string
  readonly replicas: number
  /** Millicores of each pod. */
  readonly cpu: number
  /** The only NodePool that its pods may run in. */
  readonly pool?: string
  /** How its pods are spread: over nodes, one each, or evenly over zones. */
  readonly spread?: 'nodes' | 'zones'
  /** Of its PodDisruptionBudget. */
  readonly maxUnavailable?: number
}

interface Planned {
  readonly atMs: number
  readonly trouble: Trouble
}

/** All that a run follows from, as JSON: a small cluster, and what happens to it when. */
export interface ChaosPlan {
  /** What chance within the world follows from. */
  readonly seed: number
  /** How long troubles last. */
  readonly minutes: number
  /** Processes of Joiner. */
  readonly replicas: number
  /** How long Azure takes to make a VM, to boot it, and to delete it. */
  readonly timing: { readonly createMs: number; readonly bootMs: number; readonly deleteMs: number }
  readonly pools: readonly PlannedPool[]
  /** Nodes are AKS machines. Default: VMs of Joiner. */
  readonly makesMachines?: true
  /** Sick nodes are repaired. Default: they stay. */
  readonly repairs?: true
  readonly workloads: readonly PlannedWorkload[]
  readonly timeline: readonly Planned[]
}

/** Between one trouble and the next, in ms: some come upon each other, and others find what rests. */
const gaps = [
  { least: 500, most: 15_000 },
  { least: 15_000, most: 210_000 },
] as const

/** Returns the plan of a seed; the same for the same seed. */
export function planOf(seed: number): ChaosPlan {
  const random = new Random(seed * 7919 + 1)
  const size = sizeOf(random)
  const pools = Array.from({ length: random.between(1, size.pools) }, (_, at) => poolOf(random, `pool-${at}`))
  const workloads = Array.from({ length: random.between(1, size.workloads) }, (_, at) =>
    workloadOf(random, `work-${at}`, { pools, mostReplicas: size.replicas }),
  )
  const minutes = minutesOf(random, seed)
  // Nodes expire once or twice while there are troubles.
  const expiring = random.chance(0.2) ? { expireAfter: `${Math.ceil(random.between(4, 8) * 0.1 * minutes)}m` } : {}
  return {
    seed,
    minutes,
    replicas: random.chance(0.2) ? 2 : 1,
    timing: {
      createMs: random.between(0, 30) * 1000,
      bootMs: random.between(1, 60) * 1000,
      deleteMs: random.between(0, 40) * 1000,
    },
    pools: [...pools, ...(seed % staticEvery === 0 ? [staticPoolOf(seed)] : [])].map((pool) => ({
      ...pool,
      ...expiring,
    })),
    ...(seed % machinesEvery === 1 ? { makesMachines: true } : {}),
    ...(seed % 4 > 0 ? { repairs: true } : {}),
    workloads,
    timeline: timelineOf(random, seed, minutes * 60_000),
  }
}

/** How large a cluster may be: what a seed costs follows from its nodes, and most faults need one or two of them. */
function sizeOf(random: Random): { readonly pools: number; readonly workloads: number; readonly replicas: number } {
  const draw = random.below(10)
  if (draw < 7) return { pools: 2, workloads: 2, replicas: 2 }
  return draw < 9 ? { pools: 2, workloads: 4, replicas: 4 } : { pools: 3, workloads: 12, replicas: 4 }
}

/**
 * With the rest at its end a run lasts 20 minutes to three hours. Most are short: an hour with little trouble in it finds less than three that begin
 * anew. One in a hundred lasts three days.
 */
function minutesOf(random: Random, seed: number): number {
  if (seed % 100 === 0) return 3 * 24 * 60
  return random.chance(0.8) ? random.between(13, 19) : random.between(19, 150)
}

function timelineOf(random: Random, seed: number, lengthMs: number): readonly Planned[] {
  const planned: Planned[] = []
  // Longer ones are as full of troubles as short ones in all, and have longer rests.
  const stretch = Math.max(1, lengthMs / (30 * 60_000))
  for (let atMs = random.below(60_000); atMs < lengthMs; ) {
    planned.push({ atMs: Math.floor(atMs), trouble: troubleOf(random, seed, planned.length) })
    const { least, most } = random.pick(gaps)
    atMs += stretch * random.between(least, most)
  }
  return planned
}

function poolOf(random: Random, name: string): PlannedPool {
  return {
    name,
    capacityTypes: random.pick([['on-demand'], ['on-demand'], ['on-demand', 'spot'], ['spot']]),
    cpus: random.pick([['4'], ['8'], ['4', '8']]),
    budget: random.pick(['1', '2', '20%', '50%', '100%']),
    ...(random.chance(0.4) ? { cpuLimit: random.between(4, 12) * 4 } : {}),
    policy: random.pick(['WhenEmpty', 'WhenEmptyOrUnderutilized']),
    consolidateAfter: random.pick(['0s', '10s', '2m', 'Never']),
    ...(random.chance(0.3) ? { terminationGracePeriod: random.pick(['2m', '10m']) } : {}),
  }
}

/** In one seed in so many nodes are AKS machines. */
const machinesEvery = 10

/** One seed in so many has a static NodePool beside the others. */
const staticEvery = 6

/** Two of its plans may want the same room: more nodes, and others in place of what drifts. Drawn by itself: seeds stay as they are without it. */
function staticPoolOf(seed: number): PlannedPool {
  const random = new Random(seed)
  const { cpuLimit: _, ...pool } = poolOf(random, 'static')
  return { ...pool, nodes: random.between(1, 2) }
}

function workloadOf(
  random: Random,
  name: string,
  { pools, mostReplicas }: { readonly pools: readonly PlannedPool[]; readonly mostReplicas: number },
): PlannedWorkload {
  return {
    name,
    replicas: random.between(0, mostReplicas),
    cpu: random.pick([250, 1000, 2500, 3500]),
    ...(random.chance(0.3) ? { pool: random.pick(pools).name } : {}),
    ...(random.chance(0.3) ? { spread: random.pick(['nodes', 'zones'] as const) } : {}),
    ...(random.chance(0.5) ? { maxUnavailable: random.between(0, 2) } : {}),
  }
}
