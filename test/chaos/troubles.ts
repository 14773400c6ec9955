import { Random } from '../../bench/workloads/random.ts'
import type { Fault } from '../../deploy/local/azure/admin/fault-shape.ts'
import { traceKeys } from '../command-writes.ts'
import type { PlannedStop, StopPoint } from '../fast/network.ts'

/** Something that happens to a cluster. `draw`, from 0 to 1, picks one of what is there then. */
export type Trouble =
  /** The process that sends one of the next requests of a step ends there, or stands still. */
  | ({ readonly kind: 'kill' } & Stop)
  | ({ readonly kind: 'freeze' } & Stop)
  /**
   * The next PUT of a VM takes so long that the process which sent it is gone when it takes effect. `isFirst`: it still does so before the PUT that the
   * next try sends.
   */
  | { readonly kind: 'lateLaunch'; readonly ms: number; readonly forMs: number; readonly isFirst: boolean }
  /**
   * Nodes of a NodePool drift, and the process that is about to give a node to a command ends there. `isEnded`: somebody terminates the commands.
   * `isStopped`: somebody lets no more nodes of the NodePool be disrupted. `isFrozen`: the process stands still in place of ending, for 20 s
   * more, and another one takes over, which gives the node to another command.
   */
  | {
      readonly kind: 'cutCommit'
      readonly draw: number
      readonly forMs: number
      readonly isEnded: boolean
      readonly isStopped: boolean
      readonly isFrozen?: boolean
    }
  /** Nodes of a NodePool drift, and the first that comes in place of one loses its Node at once, while Temporal is away. */
  | { readonly kind: 'loseReplacement'; readonly draw: number; readonly forMs: number }
  /** The API server has again what it held some minutes ago. */
  | { readonly kind: 'restoredEtcd'; readonly minutes: number }
  | { readonly kind: 'temporalAway'; readonly forMs: number }
  /** Temporal is away, and has nothing of what it had when it is back. */
  | { readonly kind: 'loseTemporal'; readonly forMs: number }
  /** The clock of one process is off; negative: behind. */
  | { readonly kind: 'clock'; readonly draw: number; readonly aheadMs: number; readonly forMs: number }
  | { readonly kind: 'apiThrottle'; readonly forMs: number }
  /** The API server creates no NodeClaims of one NodePool, as where a webhook refuses them. */
  | { readonly kind: 'refuseCreates'; readonly draw: number; readonly forMs: number }
  /** A share of the requests is refused with a status; with 409 of patches alone. */
  | { readonly kind: 'apiErrors'; readonly status: 409 | 500; readonly share: number; readonly forMs: number }
  /** So many writes take effect, and their answers never come. */
  | { readonly kind: 'apiLosesAnswers'; readonly count: number }
  | { readonly kind: 'apiSlow'; readonly ms: number; readonly forMs: number }
  /** All watches end, and what has changed before is forgotten: 410. */
  | { readonly kind: 'watchesExpire' }
  | { readonly kind: 'watchLag'; readonly lagMs: number; readonly forMs: number }
  | { readonly kind: 'azure'; readonly fault: Fault }
  | { readonly kind: 'vm'; readonly action: 'delete' | 'evict' | 'stop'; readonly draw: number }
  /** A node is sick for a while: its kernel alone, which a reboot is for, or all of it. A reboot heals it, or does not. */
  | { readonly kind: 'sicken'; readonly draw: number; readonly isKernel: boolean; readonly forMs: number }
  | { readonly kind: 'foreign'; readonly of: ForeignKind; readonly draw: number }
  /** Somebody takes a NodeClaim's finalizers away and deletes it. */
  | { readonly kind: 'loseClaim'; readonly draw: number }
  /** A pod must not be disrupted for a while. `isLate`: one of the next node that a command has taken. */
  | { readonly kind: 'protect'; readonly draw: number; readonly forMs: number; readonly isLate: boolean }
  | { readonly kind: 'scale'; readonly draw: number; readonly replicas: number }
  | { readonly kind: 'deleteObject'; readonly of: 'nodes' | 'nodeclaims' | 'pods'; readonly draw: number }
  /** Its nodes drift. */
  | { readonly kind: 'editTemplate'; readonly draw: number }
  /** VMs get other tags in place. `isDrift`: nodes get another image family as well. */
  | { readonly kind: 'editClass'; readonly isDrift: boolean }
  | { readonly kind: 'editBudget'; readonly draw: number; readonly budget: string }
  | { readonly kind: 'editLimit'; readonly draw: number; readonly cpus: number }
  /** A NodePool gets room for one more node, its nodes drift, and pods come for it, while the API server is slow: two plans want the same room. */
  | { readonly kind: 'race'; readonly draw: number; readonly ms: number; readonly forMs: number }
  | { readonly kind: 'removePool'; readonly draw: number; readonly forMs: number }
  | { readonly kind: 'removeClass'; readonly forMs: number }
  | { readonly kind: 'pause'; readonly loop: 'provisioning' | 'disruption'; readonly forMs: number }
  | { readonly kind: 'hold'; readonly draw: number; readonly forMs: number }
  /** Nodes of a NodePool drift, and somebody holds one while the DELETE of its NodeClaim is under way. */
  | { readonly kind: 'lateHold'; readonly draw: number; readonly forMs: number }
  | { readonly kind: 'plan'; readonly isApplied: boolean }
  | { readonly kind: 'consolidate' }
  | { readonly kind: 'retryNow'; readonly draw: number }
  | {
      readonly kind: 'endWorkflow'
      readonly type: EndedType
      readonly by: 'cancel' | 'terminate'
      readonly draw: number
    }

/** Where a process stops: at the `after`th request of a step from now on. */
interface Stop {
  readonly after: number
  readonly step: Step
  readonly point: StopPoint
  readonly forMs: number
}

/** Requests by what they do. Of all of them most renew a Lease. */
export const steps = {
  any: { of: /./ },
  'a NodeClaim': { of: /^(?!get|list).*\/nodeclaims/ },
  'a DELETE of a NodeClaim': { of: /^delete .*\/nodeclaims/ },
  'a Node': { of: /^(?!get|list).*\/nodes\// },
  'a PUT of a VM': { of: /^PUT (virtualMachines|machines)/ },
  'a DELETE of a VM': { of: /^(DELETE virtualMachines|POST machines\/deleteMachines)/ },
  'an eviction': { of: /^evict/ },
  /** The last write of a commit. */
  'a stamp': { of: /\/nodeclaims\//, carrying: new RegExp(`"${traceKeys.stamp}":"`) },
} as const satisfies Readonly<Record<string, Pick<PlannedStop, 'of' | 'carrying'>>>
export type Step = keyof typeof steps

/**
 * What others make: a Node with pods, a VM of another cluster, one of a cluster of the same name, a Node with the provider id of one of our VMs, and a
 * finalizer on one of our Nodes.
 */
const foreignKinds = ['nodes', 'vms', 'namesakes', 'impostors', 'finalizers'] as const
export type ForeignKind = (typeof foreignKinds)[number]

/** Workflows that somebody ends in Temporal. */
type EndedType = 'nodeClaimLifecycle' | 'disruptionCommand' | 'disruptionLoop' | 'provisioningLoop'

/** The codes speak of one zone and capacity type, since those of wider scope would soon leave nothing to buy. */
export const capacityCode = 'OverconstrainedZonalAllocationRequest'

const dayMs = 24 * 60 * 60_000

type Maker = (random: Random) => Trouble

const points: readonly StopPoint[] = ['sent', 'effected', 'answered']
const operations = ['DELETE virtualMachines', 'GET virtualMachines', 'PUT virtualMachines'] as const
const types: readonly EndedType[] = ['nodeClaimLifecycle', 'disruptionCommand', 'disruptionLoop', 'provisioningLoop']

const azure = (fault: Fault): Trouble => ({ kind: 'azure', fault })
const drawn = (random: Random) => random.below(1000) / 1000
const seconds = (random: Random, least: number, most: number) => random.between(least, most) * 1000

/** As often at a write that counts as anywhere. */
function stopOf(random: Random, longest: number): Stop {
  const step = random.chance(0.5) ? 'any' : random.pick(Object.keys(steps) as Step[])
  const after = step === 'any' ? random.between(1, 80) : random.between(1, 6)
  return { step, after, point: random.pick(points), forMs: seconds(random, 1, longest) }
}

const kill: Maker = (random) => ({ kind: 'kill', ...stopOf(random, 90) })

/** A dead process is noticed after ten seconds, so from then on the next try looks for the VM. */
const lateLaunch: Maker = (random) => ({
  kind: 'lateLaunch',
  ms: seconds(random, 3, 90),
  forMs: seconds(random, 1, 3),
  isFirst: random.chance(0.5),
})

const freeze: Maker = (random) => ({ kind: 'freeze', ...stopOf(random, 120) })

const cutCommit: Maker = (random) => {
  const isEnded = random.chance(0.6)
  const isStopped = random.chance(0.8)
  return {
    kind: 'cutCommit',
    draw: drawn(random),
    forMs: seconds(random, 1, 30),
    isEnded,
    isStopped,
    isFrozen: isEnded && !isStopped,
  }
}

/** A command is given up on after ten minutes. */
const loseReplacement: Maker = (random) => ({
  kind: 'loseReplacement',
  draw: drawn(random),
  forMs: seconds(random, 40, 240),
})

const latency: Maker = (random) =>
  azure({
    kind: 'latency',
    ms: random.between(500, 60_000),
    operation: random.pick(operations),
    count: random.between(1, 4),
  })

const vm =
  (action: 'delete' | 'evict' | 'stop'): Maker =>
  (random) => ({ kind: 'vm', action, draw: drawn(random) })

/** A sick node is tolerated for a minute. */
const sicken: Maker = (random) => ({
  kind: 'sicken',
  draw: drawn(random),
  isKernel: random.chance(0.5),
  forMs: seconds(random, 40, 900),
})

const apiErrors =
  (status: 409 | 500): Maker =>
  (random) => ({
    kind: 'apiErrors',
    status,
    share: random.pick([0.2, 0.5, 1]),
    forMs: seconds(random, 2, 60),
  })

/** What seldom comes about stands here more than once: an eviction needs a spot VM, and a stop at a stamp a command. */
const faults: readonly Maker[] = [
  kill,
  kill,
  freeze,
  freeze,
  lateLaunch,
  lateLaunch,
  cutCommit,
  cutCommit,
  loseReplacement,
  (random) => ({ kind: 'restoredEtcd', minutes: random.between(1, 12) }),
  (random) => ({
    kind: 'clock',
    draw: drawn(random),
    aheadMs: random.pick([-1, 1]) * random.pick([20_000, 600_000, 31 * dayMs, 365 * dayMs]),
    forMs: seconds(random, 10, 900),
  }),
  // Seconds as often as an hour.
  (random) => ({
    kind: 'temporalAway',
    forMs: random.pick([seconds(random, 2, 20), seconds(random, 30, 300), seconds(random, 300, 5000)]),
  }),
  (random) => ({ kind: 'loseTemporal', forMs: seconds(random, 2, 120) }),
  (random) => ({ kind: 'apiThrottle', forMs: seconds(random, 1, 60) }),
  (random) => ({ kind: 'refuseCreates', draw: drawn(random), forMs: seconds(random, 20, 900) }),
  apiErrors(409),
  apiErrors(500),
  (random) => ({ kind: 'apiLosesAnswers', count: random.between(1, 8) }),
  (random) => ({ kind: 'apiSlow', ms: random.between(200, 9000), forMs: seconds(random, 5, 120) }),
  () => ({ kind: 'watchesExpire' }),
  (random) => ({ kind: 'watchLag', lagMs: random.between(200, 20_000), forMs: seconds(random, 10, 180) }),
  (random) => azure({ kind: 'failSync', code: capacityCode, count: random.between(1, 4) }),
  (random) => azure({ kind: 'failAsync', code: capacityCode, count: random.between(1, 3) }),
  (random) => azure({ kind: 'failAsync', code: 'InternalServerError', count: random.between(1, 2) }),
  (random) => azure({ kind: 'failDelete', code: 'InternalServerError', count: random.between(1, 3) }),
  (random) => azure({ kind: 'resetAfterCommit', count: random.between(1, 3) }),
  (random) => azure({ kind: 'throttle', retryAfterSeconds: random.between(1, 30), forMs: seconds(random, 1, 60) }),
  (random) =>
    azure({
      kind: 'failSync',
      code: 'InternalServerError',
      status: 500,
      operation: random.pick(operations),
      count: random.between(1, 4),
    }),
  latency,
  latency,
  () => azure({ kind: 'neverJoins' }),
  sicken,
  sicken,
  vm('delete'),
  vm('stop'),
  ...Array<Maker>(4).fill(vm('evict')),
]

const protect: Maker = (random) => ({
  kind: 'protect',
  draw: drawn(random),
  forMs: seconds(random, 60, 900),
  isLate: random.chance(0.5),
})

const race: Maker = (random) => ({
  kind: 'race',
  draw: drawn(random),
  ms: random.between(500, 5000),
  forMs: seconds(random, 20, 90),
})

const editTemplate: Maker = (random) => ({ kind: 'editTemplate', draw: drawn(random) })

const endWorkflow: Maker = (random) => ({
  kind: 'endWorkflow',
  type: random.pick(types),
  by: random.pick(['cancel', 'terminate'] as const),
  draw: drawn(random),
})

/** Nearly as many as faults. Those that begin disruptions come more often: of what happens in the midst of them each takes a coincidence. */
const operators: readonly Maker[] = [
  (random) => ({ kind: 'scale', draw: drawn(random), replicas: random.between(0, 6) }),
  (random) => ({ kind: 'scale', draw: drawn(random), replicas: random.between(0, 6) }),
  (random) => ({
    kind: 'deleteObject',
    of: random.pick(['nodes', 'nodeclaims', 'pods'] as const),
    draw: drawn(random),
  }),
  editTemplate,
  editTemplate,
  editTemplate,
  (random) => ({ kind: 'editClass', isDrift: random.chance(0.3) }),
  (random) => ({ kind: 'editBudget', draw: drawn(random), budget: random.pick(['0', '1', '30%', '100%']) }),
  (random) => ({ kind: 'editLimit', draw: drawn(random), cpus: random.between(2, 12) * 4 }),
  race,
  race,
  (random) => ({ kind: 'removePool', draw: drawn(random), forMs: seconds(random, 1, 300) }),
  (random) => ({ kind: 'removeClass', forMs: seconds(random, 1, 300) }),
  (random) => ({
    kind: 'pause',
    loop: random.pick(['provisioning', 'disruption'] as const),
    forMs: seconds(random, 3, 600),
  }),
  (random) => ({ kind: 'hold', draw: drawn(random), forMs: seconds(random, 10, 900) }),
  (random) => ({ kind: 'lateHold', draw: drawn(random), forMs: seconds(random, 10, 900) }),
  (random) => ({ kind: 'plan', isApplied: random.chance(0.8) }),
  () => ({ kind: 'consolidate' }),
  () => ({ kind: 'consolidate' }),
  (random) => ({ kind: 'retryNow', draw: drawn(random) }),
  endWorkflow,
  endWorkflow,
  endWorkflow,
  (random) => ({ kind: 'foreign', of: random.pick(foreignKinds), draw: drawn(random) }),
  (random) => ({ kind: 'foreign', of: random.pick(foreignKinds), draw: drawn(random) }),
  (random) => ({ kind: 'loseClaim', draw: drawn(random) }),
  protect,
  protect,
]

/** What goes wrong, and what people do. */
const makers = [...faults, ...operators]
/** How many troubles most seeds have. */
const troublesOfSeed = 20

/**
 * Returns the trouble of a seed that comes so many troubles after its first. Seeds that follow each other take theirs from one pack of cards after the
 * other: drawn by chance, one kind or another would come about too rarely in fifty seeds to say anything about it.
 */
export function troubleOf(random: Random, seed: number, at: number): Trouble {
  const card = seed * troublesOfSeed + at
  const pack = Math.floor(card / makers.length)
  return (shuffled(makers, new Random(pack))[card % makers.length] as Maker)(random)
}

function shuffled<T>(list: readonly T[], random: Random): readonly T[] {
  const rest = [...list]
  return list.map(() => rest.splice(random.below(rest.length), 1)[0] as T)
}

/** What coverage counts a trouble as. */
export function nameOf(trouble: Trouble): string {
  switch (trouble.kind) {
    case 'azure':
      return `azure ${trouble.fault.kind}`
    case 'vm':
      return `${trouble.action} a VM`
    case 'kill':
    case 'freeze':
      return `${trouble.kind} ${trouble.point}`
    case 'apiErrors':
      return `api ${trouble.status}`
    case 'deleteObject':
      return `delete ${trouble.of}`
    case 'endWorkflow':
      return `${trouble.by} ${trouble.type}`
    case 'foreign':
      return `foreign ${trouble.of}`
    default:
      return trouble.kind
  }
}

/** All names that coverage can have, of troubles that `troubleOf` draws. */
export function drawnNames(random: Random): ReadonlySet<string> {
  return new Set(makers.flatMap((maker) => Array.from({ length: 100 }, () => nameOf(maker(random)))))
}
