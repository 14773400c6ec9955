import { isTrue } from '../../conditions.ts'
import { capacityTypeOf, compatibleOfferings, isLaunchable } from '../../instance-type.ts'
import { templateRequirements } from '../../node-pool/node-claim-template.ts'
import type { NodePool } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { isCompatible } from '../../requirements/requirements.ts'
import { staticClaim, templateOf } from '../../static-capacity/static-claim.ts'
import type { Candidate, DisruptionView } from '../candidates.ts'
import { isMarked } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { reservationOf } from '../simulation.ts'
import { type MethodContext, poolOf, takeBudget, waitsForTrial } from './context.ts'
import { firstOf, type Method, notLookedAt, unsuitable } from './method.ts'

/** Yields a replacement from the template for each drifted node of a static pool, within budget and node limit (reference/karpenter-core.md 4.8). */
function* compute(candidates: readonly Candidate[], context: MethodContext): Iterable<DisruptionCommand> {
  const trials = { begun: new Set<string>(), told: new Set<string>() }
  for (const [pool, own] of Map.groupBy(candidates, poolOf)) {
    const { name } = (own[0] as Candidate).nodePool.template.spec.nodeClassRef
    const isOnTrial = context.settings.imageTrials?.has(name) === true
    const allowed = own.filter((candidate) => !waitsForTrial(context, candidate, trials))
    const commands = ofPool(pool, isOnTrial ? allowed.slice(0, 1) : allowed, context)
    if (commands.length > 0) trials.begun.add(name)
    yield* commands
  }
}

function ofPool(pool: string, own: readonly Candidate[], context: MethodContext): readonly DisruptionCommand[] {
  const budget = context.budgets.get(pool) ?? 0
  const [first] = own
  if (first === undefined) return []
  const { nodePool } = first
  const counts = countsOf(pool, context.view)
  // Scaling down comes first.
  if (budget === 0 || counts.active + counts.leaving > (nodePool.replicas ?? 0)) return []
  const full = context.settings.terminateFirst ? fullReservations(nodePool, context) : undefined
  if (full !== undefined) return withoutRoom(byReservation(own, full, context).slice(0, budget), full, context)
  const room = roomOf(nodePool, counts)
  if (room === 0) return withoutRoom(own.slice(0, budget), 'at limit', context)
  return own.slice(0, Math.min(budget, room)).map((one) => replace(one, context))
}

/** How many nodes of a static pool stay, leave, and are being deleted. */
export interface Counts {
  readonly active: number
  readonly leaving: number
  readonly deleting: number
}

/** Counts the nodes of a static pool. */
export function countsOf(pool: string, view: DisruptionView): Counts {
  const own = view.nodes.filter(({ claim }) => claim?.metadata.labels[labels.nodePool] === pool)
  const deleting = own.filter(({ claim }) => claim?.metadata.deletionTimestamp !== undefined).length
  const leaving = own.filter(
    ({ claim, node }) =>
      claim !== undefined &&
      node !== undefined &&
      claim.metadata.deletionTimestamp === undefined &&
      isMarked(claim, node, view),
  ).length
  return { active: own.length - deleting - leaving, leaving, deleting }
}

/** Returns how many more nodes the limit of a pool allows. */
export function roomOf({ limits }: NodePool, { active, leaving, deleting }: Counts): number {
  const limit = limits['nodes']
  if (limit === undefined) return Number.POSITIVE_INFINITY
  return Math.max(0, Number(limit.nano / 1_000_000_000n) - active - leaving - deleting)
}

/** Returns ids of the healthy reservations of the pool's nodes when all are full; undefined when something else can be bought, or there is room. */
function fullReservations(nodePool: NodePool, { view, settings }: MethodContext): ReadonlySet<string> | undefined {
  const wanted = templateRequirements(templateOf(nodePool))
  const { wellKnown, scheduling } = settings
  const ids = new Set<string>()
  for (const type of view.instanceTypes.get(nodePool.metadata.name) ?? []) {
    if (!isCompatible(wanted, type.requirements, wellKnown)) continue
    for (const offering of compatibleOfferings(type, wanted, wellKnown)) {
      if (capacityTypeOf(offering) !== 'reserved' || isLaunchable(offering)) return undefined
      const [id] = offering.requirements.get(scheduling.reservationIdLabel ?? '')?.values ?? []
      if (offering.available && id !== undefined) ids.add(id)
    }
  }
  return ids
}

/** Sorts nodes that hold a place in one of the reservations first: only their places can be filled again. */
function byReservation(
  candidates: readonly Candidate[],
  ids: ReadonlySet<string>,
  { settings }: MethodContext,
): readonly Candidate[] {
  const holds = (one: Candidate) => ids.has(reservationOf(one, settings.scheduling) ?? '')
  return [...candidates.filter(holds), ...candidates.filter((one) => !holds(one))]
}

/** Returns nodes that must go before there is room for others. A pool that would not be filled again keeps its nodes. */
function withoutRoom(
  candidates: readonly Candidate[],
  full: ReadonlySet<string> | 'at limit',
  context: MethodContext,
): readonly DisruptionCommand[] {
  const kind = full === 'at limit' ? 'static-pool-at-limit' : 'static-pool-reservations-full'
  return candidates.flatMap((candidate) => {
    const frees = full === 'at limit' || full.has(reservationOf(candidate, context.settings.scheduling) ?? '')
    const { conditions, metadata } = candidate.nodePool
    const isFilledAgain = isTrue(conditions, 'Ready') && metadata.deletionTimestamp === undefined
    if (context.settings.terminateFirst && frees && isFilledAgain) return [chosen(bare(candidate), context)]
    context.note({ candidate, outcome: 'hindered', cause: { kind }, event: 'DisruptionBlocked' })
    return []
  })
}

function replace(candidate: Candidate, context: MethodContext): DisruptionCommand {
  const replacements = [staticClaim(candidate.nodePool)]
  return chosen(
    { ...bare(candidate), decision: 'replace', replacements, savings: savingsOf([candidate], replacements) },
    context,
  )
}

/** Returns the deletion alone: the pool is filled again. */
function bare(candidate: Candidate): DisruptionCommand {
  const savings = savingsOf([candidate], [])
  return { method: 'static-drift', decision: 'terminate-first', candidates: [candidate], replacements: [], savings }
}

function chosen(command: DisruptionCommand, context: MethodContext): DisruptionCommand {
  for (const candidate of command.candidates) {
    takeBudget(context, candidate)
    context.note({ candidate, outcome: 'chosen', decision: command.decision, cause: { kind: 'chosen-drifted' } })
  }
  return command
}

export const staticDrift = {
  name: 'static-drift',
  simulates: false,
  suits: ({ nodePool, nodeClaim }) => nodePool.isStatic && isTrue(nodeClaim.status.conditions, 'Drifted'),
  compute,
  revalidate: (candidates, context) => firstOf(compute(candidates, context)),
  explain: ({ claim, nodePool }) => {
    if (nodePool?.isStatic !== true) return unsuitable({ kind: 'no-static-pool' })
    if (!isTrue(claim.status.conditions, 'Drifted')) return unsuitable({ kind: 'not-drifted' })
    return notLookedAt({ kind: 'other-static-first' })
  },
} as const satisfies Method
