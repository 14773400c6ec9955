// A day of a cluster of 60 nodes, for pictures: the same each time. Lifecycles and disruption commands are made up, as Temporal would know them; sums and
// words about them are the product's own.
import { billByHour, billedSpans, billOf } from '../../core/cost/bill.ts'
import { forecastMonth } from '../../core/cost/report.ts'
import { savingsIn } from '../../core/cost/savings.ts'
import type { CommandFacts, Death, Life } from '../../core/history/life.ts'
import type { CostReport, NodeView } from '../../starter/ui/contract.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const gi = 1024 ** 3

/** A Friday afternoon. */
export const pictured = Date.UTC(2026, 10, 20, 14, 30)
const cluster = 'prod-westeurope'
/** The pods that wait for the node that is launched. */
export const launchedFor = 3

interface Size {
  readonly instanceType: string
  readonly cpu: number
  readonly memory: number
  readonly price: number
}

interface Pool {
  readonly name: string
  readonly capacityType: 'on-demand' | 'spot'
  readonly sizes: readonly Size[]
  /** Nodes that are there all day, those that come by day, and those of the evening before or of the night. */
  readonly steady: number
  readonly daily: number
  readonly past: number
  /** Name, cores and GiB of its pods. */
  readonly workloads: readonly (readonly [name: string, cpu: number, memory: number])[]
}

const size = (instanceType: string, cpu: number, memory: number, price: number): Size => ({
  instanceType: `Standard_${instanceType}`,
  cpu,
  memory,
  price,
})

const pools: readonly Pool[] = [
  {
    name: 'general',
    capacityType: 'on-demand',
    sizes: [size('D4s_v5', 4, 16, 0.23), size('D8s_v5', 8, 32, 0.46), size('E8s_v5', 8, 64, 0.608)],
    steady: 17,
    daily: 9,
    past: 10,
    workloads: [
      ['shop/checkout', 0.5, 1.5],
      ['shop/catalogue', 1, 3],
      ['shop/cart', 0.25, 0.5],
      ['search/index', 1.5, 8],
      ['payments/ledger', 0.75, 2],
    ],
  },
  {
    name: 'web-spot',
    capacityType: 'spot',
    sizes: [size('D8as_v5', 8, 32, 0.0874), size('D16as_v5', 16, 64, 0.1748)],
    steady: 9,
    daily: 9,
    past: 12,
    workloads: [
      ['shop/web', 0.5, 1],
      ['shop/images', 2, 4],
      ['search/api', 1, 2],
    ],
  },
  {
    name: 'batch',
    capacityType: 'spot',
    sizes: [size('F16s_v2', 16, 32, 0.1513), size('F32s_v2', 32, 64, 0.3026)],
    steady: 4,
    daily: 8,
    past: 14,
    workloads: [
      ['data/report', 4, 6],
      ['data/import', 2, 4],
      ['data/etl', 6, 10],
    ],
  },
  {
    name: 'gpu',
    capacityType: 'on-demand',
    sizes: [size('NC4as_T4_v3', 4, 28, 0.605)],
    steady: 3,
    daily: 1,
    past: 2,
    workloads: [['ml/inference', 1.5, 10]],
  },
]

/** A number below `below`, the same for the same numbers. */
function drawn(below: number, ...of: readonly number[]): number {
  const mixed = of.reduce((hash, one) => Math.imul(hash ^ (one + 0x9e3779b9), 0x85ebca6b) ^ (hash >>> 13), 0x5bd1e995)
  return (mixed >>> 0) % below
}

/** What Kubernetes appends to a name it generates. */
function suffix(...of: readonly number[]): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789'
  return Array.from({ length: 5 }, (_, at) => letters[drawn(letters.length, ...of, at)]).join('')
}

/** When the node of a number came, and for how long it was there; undefined: it still is. */
function times(
  { steady, daily, name }: Pool,
  index: number,
  seed: number,
): { readonly fromMs: number; readonly forMs?: number } {
  const jitter = (range: number) => drawn(range, seed, index, 7)
  if (index < steady) return { fromMs: pictured - day - jitter(40 * hour) }
  const isNewest = index === steady + daily - 1
  if (isNewest && name === 'batch') return { fromMs: pictured - 20 * second }
  if (isNewest && name === 'web-spot') return { fromMs: pictured - 75 * second }
  if (index < steady + daily) return { fromMs: pictured - 40 * minute - jitter(7.5 * hour) }
  // What batch made at night was empty by the morning; the evening needs fewer nodes than the afternoon.
  if (isNightly({ name }, index))
    return { fromMs: pictured - 13.5 * hour - jitter(hour), forMs: 2 * hour + jitter(2 * hour) }
  // Spot VMs that Azure took back in the last hours.
  if (index % 7 === 5) return { fromMs: pictured - 7 * hour - jitter(hour), forMs: 5 * hour + jitter(2 * hour) }
  return { fromMs: pictured - 23.5 * hour + jitter(3 * hour), forMs: 3 * hour + jitter(5 * hour) }
}

export interface Past {
  readonly lives: readonly Life[]
  readonly commands: readonly CommandFacts[]
  readonly nodes: readonly NodeView[]
}

/** A node of a pool: its lifecycle, the command that ended it, and how the cluster shows it while it is there. */
function made(pool: Pool, index: number, seed: number): Past {
  const of = pool.sizes[drawn(pool.sizes.length, seed, index)] ?? pool.sizes[0]
  if (of === undefined) throw new Error(`NodePool ${pool.name} has no sizes`)
  const pods = podsOf(pool, of, [seed, index])
  const { fromMs, forMs } = times(pool, index, seed)
  const end = forMs === undefined ? undefined : endOf({ pool, index, seed }, fromMs + forMs)
  const begun = begunLife({ pool, index, seed }, of, fromMs)
  if (end === undefined) return { lives: [begun], commands: [], nodes: [viewOfLife(begun, of, pods)] }
  const { endedMs } = end
  const vms = begun.vms.map((vm) => ({ ...vm, toMs: endedMs }))
  const life = { ...begun, ...end, vms, isRunning: false, drainedPods: isNightly(pool, index) ? 0 : pods.length - 2 }
  return { lives: [life], commands: commandsOf(life, of.price), nodes: [] }
}

interface Which {
  readonly pool: Pool
  readonly index: number
  readonly seed: number
}

function begunLife({ pool, index, seed }: Which, { instanceType, price }: Size, fromMs: number): Life {
  const nodeClaim = `${pool.name}-${suffix(seed, index)}`
  const registeredMs = fromMs + 48 * second + drawn(40 * second, seed, index, 3)
  const readyMs = registeredMs + 9 * second
  const { capacityType } = pool
  const zone = `westeurope-${1 + (index % 3)}`
  return {
    nodeClaim,
    uid: suffix(seed, index, 5),
    workflowId: `nodeclaim/${cluster}/${nodeClaim}`,
    runId: suffix(seed, index, 6),
    isRunning: true,
    nodePool: pool.name,
    createdMs: fromMs,
    ...(registeredMs < pictured ? { registeredMs, node: `aks-${nodeClaim}` } : {}),
    ...(readyMs < pictured ? { readyMs } : {}),
    vms: [{ instanceType, zone, capacityType, pricePerHour: price, fromMs: fromMs + 2 * second }],
    came: { kind: 'pods', pods: fromMs > pictured - minute ? launchedFor : 1 + drawn(9, seed, index, 8) },
    refused: [],
    attempts: index % 9 === 4 ? 2 : 1,
    labels: {},
  }
}

function endOf({ pool, index, seed }: Which, endedMs: number) {
  const went: Death = isInterrupted(pool, index)
    ? { kind: 'interrupted', message: 'PreemptionScheduled (SpotEvictionIncoming)' }
    : {
        kind: 'disruption',
        command: suffix(seed, index, 9),
        reason: isNightly(pool, index) ? 'Empty' : 'Underutilized',
      }
  return { endedMs, drainingMs: endedMs - 45 * second - drawn(minute, seed, index, 4), went }
}

/** The command that ended a lifecycle, where one did. */
function commandsOf({ nodeClaim, went, drainingMs = 0, endedMs }: Life, savings: number): readonly CommandFacts[] {
  if (went?.kind !== 'disruption' || endedMs === undefined) return []
  const { command: id, reason } = went
  const startedMs = drainingMs - 16 * second
  const method = reason === 'Empty' ? 'emptiness' : 'single-node'
  return [
    {
      id,
      method,
      reason,
      decision: 'delete',
      candidates: [nodeClaim],
      replacements: [],
      savings,
      startedMs,
      endedMs,
      outcome: 'done',
    },
  ]
}

const isNightly = ({ name }: Pick<Pool, 'name'>, index: number) => name === 'batch' && index % 2 === 0
const isInterrupted = ({ capacityType }: Pool, index: number) => capacityType === 'spot' && index % 7 === 5

/** Pods until the node is three quarters to nearly full. */
function podsOf({ workloads }: Pool, { cpu, memory }: Size, seed: readonly number[]): NodeView['pods'] {
  const pods: [string, number, number, 'd' | 'h' | undefined][] = [
    [`kube-system/cilium-${suffix(...seed, 20)}`, 0.1, 0.3 * gi, 'd'],
    [`kube-system/csi-azuredisk-node-${suffix(...seed, 21)}`, 0.05, 0.1 * gi, 'd'],
  ]
  let [freeCpu, freeMemory] = [cpu * 0.94 - 0.2 - (drawn(20, ...seed, 22) / 100) * cpu, memory * 0.88 - 0.5]
  for (let at = 0; at < 40; at++) {
    const workload = workloads[drawn(workloads.length, ...seed, at)]
    if (workload === undefined) break
    const [name, podCpu, podMemory] = workload
    if (podCpu > freeCpu || podMemory > freeMemory) continue
    freeCpu -= podCpu
    freeMemory -= podMemory
    const isProtected = name === 'payments/ledger' && drawn(3, ...seed, at) === 0
    pods.push([`${name}-${suffix(...seed, at, 23)}`, podCpu, podMemory * gi, isProtected ? 'h' : undefined])
  }
  return pods.map(([name, podCpu, podMemory, mark]) =>
    mark === undefined ? [name, podCpu, podMemory] : [name, podCpu, podMemory, mark],
  )
}

function viewOfLife(life: Life, { cpu, memory, price }: Size, pods: NodeView['pods']): NodeView {
  const { nodeClaim, node, nodePool, createdMs } = life
  const [{ instanceType, zone, capacityType } = { instanceType: '', zone: '', capacityType: '' }] = life.vms
  const requested = pods.reduce((sum, pod) => ({ cpu: sum.cpu + pod[1], memory: sum.memory + pod[2] }), {
    cpu: 0,
    memory: 0,
  })
  return {
    key: nodeClaim,
    ...(node === undefined ? {} : { node }),
    nodeClaim,
    ...(nodePool === undefined ? {} : { nodePool }),
    phase: phaseOf(life),
    instanceType,
    zone,
    capacityType,
    pricePerHour: price,
    createdMs,
    isReady: life.registeredMs !== undefined,
    isCordoned: false,
    allocatable: { cpu: cpu * 0.97, memory: memory * 0.9 * gi, pods: 110 },
    requested,
    pods,
  }
}

function phaseOf({ registeredMs, readyMs }: Life): NodeView['phase'] {
  if (readyMs !== undefined) return 'Ready'
  return registeredMs === undefined ? 'Launching' : 'Initializing'
}

/** Lifecycles and commands of the day, and the nodes at its end. */
export function picturedDay(): Past {
  const parts = pools.flatMap((pool, seed) =>
    Array.from({ length: pool.steady + pool.daily + pool.past }, (_, index) => made(pool, index, seed)),
  )
  return {
    lives: parts.flatMap(({ lives }) => lives),
    commands: parts.flatMap(({ commands }) => commands),
    nodes: parts.flatMap(({ nodes }) => nodes),
  }
}

/** What the day cost, as `joiner ui` sums it up. */
export function picturedCost({ lives, commands }: Past): CostReport {
  const window = { fromMs: pictured - day, toMs: pictured }
  const spans = billedSpans(lives, window)
  const poolOf = ({ life }: (typeof spans)[number]) => life.nodePool ?? ''
  const { usd, lines } = billOf(spans, poolOf, () => undefined)
  const hours = billByHour(spans, window, poolOf).map(({ atMs, byKey }) => ({ atMs, byNodePool: byKey }))
  const forecast = forecastMonth(
    hours.map(({ atMs, byNodePool }) => ({
      atMs,
      usd: Object.values(byNodePool).reduce((sum, each) => sum + each, 0),
      knownMs: Math.min(hour, pictured - atMs),
    })),
    pictured,
  )
  return {
    notes: ['Prices are those of the list of westeurope, 3 hours old.'],
    hours,
    byNodePool: lines.map(({ key, usd: own, nodeHours }) => ({ key, usd: own, nodeHours })),
    byNamespace: [],
    total: usd,
    saved: savingsIn(commands, lives, window).reduce((sum, saving) => sum + saving.usd, 0),
    ...(forecast === undefined ? {} : { forecastMonth: forecast }),
  }
}
