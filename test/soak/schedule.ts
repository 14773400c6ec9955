import { Random } from '../../bench/workloads/random.ts'
import type { Fault } from '../../deploy/local/azure/admin/fault-shape.ts'

/** Deployments whose pods come and go. */
export const workloads = ['spread', 'packed'] as const

/** Something that happens to a cluster. `draw`, from 0 to 1, picks one of what is there then. */
export type Trouble =
  | { readonly kind: 'kill'; readonly process: 'joiner' | 'temporal' | 'kube-apiserver' }
  | { readonly kind: 'freeze'; readonly forMs: number }
  | { readonly kind: 'azure'; readonly fault: Fault }
  | { readonly kind: 'throttleApi'; readonly forMs: number }
  | { readonly kind: 'scale'; readonly workload: string; readonly replicas: number }
  | { readonly kind: 'deleteObject'; readonly of: 'nodes' | 'nodeclaims'; readonly draw: number }
  | { readonly kind: 'vm'; readonly action: 'delete' | 'evict'; readonly draw: number }
  | { readonly kind: 'pause'; readonly loop: 'provisioning' | 'disruption'; readonly forMs: number }
  | { readonly kind: 'drift'; readonly pool: string }

export interface Planned {
  readonly atMs: number
  readonly trouble: Trouble
}

/** The codes speak of one zone and capacity type, since those of wider scope would soon leave nothing to buy. */
const capacityCode = 'OverconstrainedZonalAllocationRequest'

type Maker = (random: Random) => Trouble

const makers: Readonly<Record<string, Maker>> = {
  killJoiner: () => ({ kind: 'kill', process: 'joiner' }),
  killTemporal: () => ({ kind: 'kill', process: 'temporal' }),
  killApiServer: () => ({ kind: 'kill', process: 'kube-apiserver' }),
  freeze: (random) => ({ kind: 'freeze', forMs: random.between(2000, 15_000) }),
  throttleApi: (random) => ({ kind: 'throttleApi', forMs: random.between(1000, 6000) }),
  drift: () => ({ kind: 'drift', pool: 'general' }),
  pause: (random) => ({
    kind: 'pause',
    loop: random.pick(['provisioning', 'disruption'] as const),
    forMs: random.between(3000, 15_000),
  }),
  deleteNode: (random) => ({ kind: 'deleteObject', of: 'nodes', draw: drawn(random) }),
  deleteClaim: (random) => ({ kind: 'deleteObject', of: 'nodeclaims', draw: drawn(random) }),
  deleteVm: (random) => ({ kind: 'vm', action: 'delete', draw: drawn(random) }),
  evictVm: (random) => ({ kind: 'vm', action: 'evict', draw: drawn(random) }),
  scaleSpread: (random) => ({ kind: 'scale', workload: 'spread', replicas: random.between(0, 8) }),
  scalePacked: (random) => ({ kind: 'scale', workload: 'packed', replicas: random.between(0, 30) }),
  refuseCreates: (random) => azure({ kind: 'failSync', code: capacityCode, count: random.between(1, 4) }),
  failCreates: (random) => azure({ kind: 'failAsync', code: capacityCode, count: random.between(1, 3) }),
  failVms: (random) => azure({ kind: 'failAsync', code: 'InternalServerError', count: random.between(1, 2) }),
  loseAnswers: (random) => azure({ kind: 'resetAfterCommit', count: random.between(1, 3) }),
  throttle: (random) => azure({ kind: 'throttle', retryAfterSeconds: 1, forMs: random.between(1000, 5000) }),
  serverErrors: (random) =>
    azure({
      kind: 'failSync',
      code: 'InternalServerError',
      status: 500,
      operation: random.pick(['DELETE virtualMachines', 'GET virtualMachines', 'PUT virtualMachines']),
      count: random.between(1, 4),
    }),
  slow: (random) =>
    azure({
      kind: 'latency',
      ms: random.between(500, 8000),
      operation: random.pick(['DELETE virtualMachines', 'PUT virtualMachines']),
      count: random.between(1, 4),
    }),
}

/** All kinds of troubles that a schedule has. */
export const kinds: readonly string[] = Object.keys(makers)

/** What comes again within a round. */
const moreOften = ['killJoiner', 'killJoiner', 'scaleSpread', 'scalePacked'] as const

/** Between one trouble and the next, in ms. */
const gap = { least: 500, most: 6000 } as const

/**
 * What happens when, for so long; the same for the same seed. Rounds have every kind, in another order each time, so that a
 * short soak has most of them.
 */
export function scheduleOf(seed: number, lengthMs: number): readonly Planned[] {
  const random = new Random(seed)
  const planned: Planned[] = workloads.map((workload) => ({
    atMs: 0,
    trouble: { kind: 'scale', workload, replicas: random.between(3, 8) },
  }))
  let round: string[] = []
  for (let atMs = 4000; atMs < lengthMs; atMs += random.between(gap.least, gap.most)) {
    if (round.length === 0) round = [...kinds, ...moreOften]
    const [kind = ''] = round.splice(random.below(round.length), 1)
    const trouble = makers[kind]?.(random)
    if (trouble !== undefined) planned.push({ atMs, trouble })
  }
  return planned
}

export function describe(trouble: Trouble): string {
  const { kind, ...rest } = trouble
  return `${kind} ${JSON.stringify(rest)}`
}

function azure(fault: Fault): Trouble {
  return { kind: 'azure', fault }
}

function drawn(random: Random): number {
  return random.below(1000) / 1000
}
