import type { Moment, Witnessed } from './witness.ts'

const commandAnnotation = 'joiner.sh/disruption-command'
const replacementAnnotation = 'joiner.sh/replacement-for'
const disruptedTaint = 'karpenter.sh/disrupted'

/** Pods of which some have to be healthy at all times. */
export interface Demand {
  /** Value of their label `app`. */
  readonly app: string
  readonly healthy: number
}

/** How the pods of a demand fared. */
export interface Health extends Demand {
  readonly lowest: number
  /** Pods that went away. */
  readonly moved: number
  /** When there were too few, with how many there were. */
  readonly violations: readonly { readonly revision: number; readonly healthy: number }[]
}

/**
 * How many pods were healthy after each single change, from a revision on. A pod is healthy as PodDisruptionBudgets count: it is ready and is not
 * being deleted. Nothing but disruption may go on meanwhile.
 */
export function healthSince(moments: readonly Moment[], since: number, demands: readonly Demand[]): readonly Health[] {
  return demands.map((demand) => {
    const healthy = new Set<string>()
    const violations: { revision: number; healthy: number }[] = []
    let [lowest, moved] = [Number.POSITIVE_INFINITY, 0]
    for (const { kind, name, object, revision } of moments) {
      if (kind !== 'pod') continue
      const was = healthy.has(name)
      if (object !== undefined && isHealthy(object) && object.metadata.labels?.['app'] === demand.app) healthy.add(name)
      else healthy.delete(name)
      if (revision <= since) continue
      if (was && !healthy.has(name)) moved += 1
      lowest = Math.min(lowest, healthy.size)
      if (was && !healthy.has(name) && healthy.size < demand.healthy)
        violations.push({ revision, healthy: healthy.size })
    }
    return { ...demand, lowest, moved, violations }
  })
}

/** Revisions at which a PodDisruptionBudget's own count fell below what it wants, by its name. */
export function budgetsBelow(moments: readonly Moment[], since: number): readonly { name: string; revision: number }[] {
  return moments.flatMap(({ kind, name, object, revision }) => {
    const { currentHealthy, desiredHealthy } = object?.status ?? {}
    if (kind !== 'podDisruptionBudget' || revision <= since) return []
    if (currentHealthy === undefined || desiredHealthy === undefined || currentHealthy >= desiredHealthy) return []
    return [{ name, revision }]
  })
}

/** How many nodes there were and what they cost, after each change of a NodeClaim or Node. */
export interface FleetMoment {
  readonly atMs: number
  readonly nodes: number
  /** USD an hour of all NodeClaims that have a VM. */
  readonly cost: number
}

export function fleetOver(
  moments: readonly Moment[],
  priceOf: (labels: Readonly<Record<string, string>>) => number,
): readonly FleetMoment[] {
  const prices = new Map<string, number>()
  const nodes = new Set<string>()
  const fleet: FleetMoment[] = []
  for (const { kind, name, object, atMs } of moments) {
    if (kind === 'node') {
      if (object === undefined) nodes.delete(name)
      else nodes.add(name)
    } else if (kind === 'nodeClaim') {
      if (object === undefined) prices.delete(name)
      else if (isTrue(object, 'Launched')) prices.set(name, priceOf(object.metadata.labels ?? {}))
    } else continue
    fleet.push({ atMs, nodes: nodes.size, cost: [...prices.values()].reduce((sum, price) => sum + price, 0) })
  }
  return fleet
}

/** One command as its NodeClaims show it. */
export interface SeenCommand {
  readonly id: string
  readonly reason: string
  readonly candidates: readonly string[]
  readonly replacements: readonly string[]
  readonly stampedAtMs: number
  /** When the last candidate was gone. Undefined: one is still there. */
  readonly goneAtMs?: number
  /** Replacements that were not initialized yet when the first candidate was deleted. */
  readonly tooLate: readonly string[]
}

/** Commands in the order in which they were stamped. */
export function commandsOver(moments: readonly Moment[]): readonly SeenCommand[] {
  const found = new Map<string, CommandTrace>()
  const traceOf = (id: string) => {
    const trace = found.get(id) ?? { candidates: new Map(), replacements: new Map(), reason: '' }
    found.set(id, trace)
    return trace
  }
  const stamps = new Map<string, string>()
  for (const { kind, name, object, revision, atMs } of moments) {
    if (kind !== 'nodeClaim') continue
    if (object === undefined) {
      const seen = found.get(stamps.get(name) ?? '')?.candidates.get(name)
      if (seen !== undefined) seen.goneAtMs = atMs
      continue
    }
    const { [commandAnnotation]: command, [replacementAnnotation]: replacement } = object.metadata.annotations ?? {}
    if (command !== undefined) {
      const trace = traceOf(command)
      stamps.set(name, command)
      const seen = trace.candidates.get(name) ?? { stampedAtMs: atMs }
      trace.candidates.set(name, seen)
      trace.reason = conditionOf(object, 'DisruptionReason')?.reason ?? trace.reason
      if (object.metadata.deletionTimestamp !== undefined) seen.deletedRevision ??= revision
    }
    if (replacement !== undefined) {
      const { replacements } = traceOf(replacement)
      const before = replacements.get(name)
      replacements.set(name, before ?? (isTrue(object, 'Initialized') ? revision : undefined))
    }
  }
  return [...found].map(([id, trace]) => seenCommand(id, trace))
}

interface CommandTrace {
  readonly candidates: Map<string, { stampedAtMs: number; deletedRevision?: number; goneAtMs?: number }>
  /** When they were initialized, as a revision. */
  readonly replacements: Map<string, number | undefined>
  reason: string
}

function seenCommand(id: string, { candidates, replacements, reason }: CommandTrace): SeenCommand {
  const all = [...candidates.values()]
  const goneAt = all.map(({ goneAtMs }) => goneAtMs)
  const deleted = Math.min(...all.map(({ deletedRevision = Number.POSITIVE_INFINITY }) => deletedRevision))
  return {
    id,
    reason,
    candidates: [...candidates.keys()],
    replacements: [...replacements.keys()],
    stampedAtMs: Math.min(...all.map(({ stampedAtMs }) => stampedAtMs)),
    ...(goneAt.includes(undefined) ? {} : { goneAtMs: Math.max(...goneAt.map((ms) => ms ?? 0)) }),
    tooLate: [...replacements]
      .filter(([, revision]) => !(revision !== undefined && revision < deleted))
      .map(([name]) => name),
  }
}

/** How a rollout stood after one change. */
export interface RolloutMoment {
  readonly atMs: number
  /** Nodes being disrupted: stamped, tainted or being deleted, until both Node and NodeClaim are gone. */
  readonly busy: number
  /** Those of them that budgets count: once a node is drained and its VM is being deleted, they count it no more. */
  readonly counted: number
  /** Old nodes that nobody has begun with. */
  readonly waiting: number
}

/** A rollout of a NodePool's nodes, after each single change. `old`: names of the NodeClaims that have to go. */
export function rolloutOver(
  moments: readonly Moment[],
  since: number,
  old: ReadonlySet<string>,
): readonly RolloutMoment[] {
  const busy = new Map<string, Set<'node' | 'nodeClaim'>>()
  const [terminating, gone] = [new Set<string>(), new Set<string>()]
  const claimOf = new Map<string, string>()
  const over: RolloutMoment[] = []
  for (const { kind, name, object, revision, atMs } of moments) {
    if (kind !== 'node' && kind !== 'nodeClaim') continue
    if (kind === 'nodeClaim') {
      if (object?.status?.nodeName !== undefined) claimOf.set(object.status.nodeName, name)
      if (object === undefined) gone.add(name)
      if (object === undefined || isTrue(object, 'InstanceTerminating')) terminating.add(name)
    }
    const claim = kind === 'nodeClaim' ? name : (claimOf.get(name) ?? name)
    const sides = busy.get(claim) ?? new Set()
    if (object !== undefined && isBeingDisrupted(object)) sides.add(kind)
    else sides.delete(kind)
    if (sides.size > 0) busy.set(claim, sides)
    else busy.delete(claim)
    if (revision <= since) continue
    const counted = [...busy.keys()].filter((one) => !terminating.has(one)).length
    const waiting = [...old].filter((one) => !busy.has(one) && !gone.has(one)).length
    over.push({ atMs, busy: busy.size, counted, waiting })
  }
  return over
}

function isBeingDisrupted({ metadata, spec }: Witnessed): boolean {
  return (
    metadata.deletionTimestamp !== undefined ||
    metadata.annotations?.[commandAnnotation] !== undefined ||
    (spec.taints ?? []).some(({ key }) => key === disruptedTaint)
  )
}

/** What a rollout comes to. */
export interface RolloutFacts {
  readonly most: number
  readonly mostCounted: number
  /** The fewest at once from when `full` was reached until nothing was left to begin with; undefined: it was never reached. */
  readonly fewest: number | undefined
  /** Of that time, how much there were fewer than `least`. */
  readonly belowMs: number
  readonly betweenMs: number
}

export function rolloutFacts(over: readonly RolloutMoment[], full: number, least: number): RolloutFacts {
  const from = over.findIndex(({ busy }) => busy >= full)
  const to = over.findIndex(({ waiting }) => waiting === 0)
  const between = from < 0 ? [] : over.slice(from, to < 0 ? undefined : to)
  const belowMs = between.reduce(
    (sum, { busy, atMs }, at) => (busy < least ? sum + ((between[at + 1]?.atMs ?? atMs) - atMs) : sum),
    0,
  )
  return {
    most: Math.max(0, ...over.map(({ busy }) => busy)),
    mostCounted: Math.max(0, ...over.map(({ counted }) => counted)),
    fewest: between.length === 0 ? undefined : Math.min(...between.map(({ busy }) => busy)),
    belowMs,
    betweenMs: (between.at(-1)?.atMs ?? 0) - (between[0]?.atMs ?? 0),
  }
}

function isHealthy(pod: Witnessed): boolean {
  return pod.metadata.deletionTimestamp === undefined && isTrue(pod, 'Ready')
}

export function isTrue(object: Witnessed, type: string): boolean {
  return conditionOf(object, type)?.status === 'True'
}

function conditionOf({ status }: Witnessed, wanted: string) {
  return status?.conditions?.find(({ type }) => type === wanted)
}
