import {
  areTooManyUnhealthy,
  isRepairForbidden,
  type NodeRepair,
  repairState,
  sickConditions,
} from '../../node-repair/node-repair.ts'
import { labels } from '../../requirements/labels.ts'
import { staticClaim } from '../../static-capacity/static-claim.ts'
import { timeText } from '../../values/time.ts'
import { type Candidate, type DisruptionView, podBlock } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { withoutPlace } from '../simulation.ts'
import type { Cause } from '../verdicts/cause.ts'
import { hasBudget, type MethodContext, noteBudget, poolOf, takeBudget } from './context.ts'
import { type Explanation, firstOf, type Method, notLookedAt, type Unnoted, unsuitable } from './method.ts'
import { countsOf } from './static-counts.ts'
import { hindranceOf, refillable, shortageOf } from './terminate-first.ts'

/** A candidate whose repair is due. */
interface Patient {
  readonly candidate: Candidate
  readonly repair: NodeRepair
}

/** Yields a command for each sick node that may be repaired, the most urgent first (reference/karpenter-1.15.md 4.8a). */
function* compute(candidates: readonly Candidate[], context: MethodContext): Iterable<DisruptionCommand> {
  const patients = candidates.flatMap((candidate) => patientOf(candidate, context) ?? [])
  // Many nodes are sick at once where a zone fails, and each pool is counted once.
  const tooMany = new Map<string, boolean>()
  const isTooMany = (pool: string) => {
    const known = tooMany.get(pool) ?? areTooManyUnhealthy(nodesOfPool(pool, context.view), context.view.repairs ?? [])
    tooMany.set(pool, known)
    return known
  }
  for (const patient of patients.sort(byUrgency)) {
    const command = hindered(patient, isTooMany, context) ? undefined : treat(patient, context)
    if (command !== undefined) yield command
  }
}

/** Returns the repair of a node that is due and not forbidden; undefined when it has to wait, which is recorded. */
function patientOf(candidate: Candidate, context: MethodContext): Patient | undefined {
  const { repairs = [], now, isClockWrong = false } = context.view
  const { node, nodeClaim: claim } = candidate
  const state = repairState({ node, claim, now }, repairs)
  if (state.kind === 'healthy') return undefined
  if (isClockWrong) {
    context.note({ candidate, outcome: 'hindered', cause: { kind: 'clock-wrong' } })
    return undefined
  }
  if (state.kind === 'tolerated') {
    const { condition, untilMs } = state
    const cause: Cause = { kind: 'condition-tolerated', condition, until: timeText(untilMs) }
    context.note({ candidate, outcome: 'hindered', cause })
    return undefined
  }
  const veto = vetoOf(candidate, state.repair, context.view)
  if (veto === undefined) return { candidate, repair: state.repair }
  context.note({ candidate, outcome: 'hindered', cause: veto, event: 'DisruptionBlocked' })
  return undefined
}

function vetoOf({ node, pods }: Candidate, { boundMs }: NodeRepair, view: DisruptionView): Cause | undefined {
  if (isRepairForbidden(node)) return { kind: 'do-not-repair' }
  const block = boundMs === undefined ? podBlock(pods, view) : undefined
  return block && { kind: 'repair-unbounded', pod: block.pod }
}

function byUrgency(
  { candidate: a, repair: { score: one } }: Patient,
  { candidate: b, repair: { score: other } }: Patient,
) {
  const byName = a.node.metadata.name < b.node.metadata.name ? -1 : 1
  return other - one || a.disruptionCost - b.disruptionCost || byName
}

/** Returns whether too many nodes of the pool are sick, or its budget is used up; that is recorded. */
function hindered({ candidate }: Patient, isTooMany: (pool: string) => boolean, context: MethodContext): boolean {
  const pool = poolOf(candidate)
  if (isTooMany(pool)) {
    const cause: Cause = { kind: 'too-many-unhealthy', nodePool: pool }
    context.note({ candidate, outcome: 'hindered', cause, event: 'NodeRepairBlocked' })
    return true
  }
  if (!isInitialized(candidate) || hasBudget(context, candidate)) return false
  noteBudget(context, candidate)
  return true
}

function nodesOfPool(pool: string, { nodes }: DisruptionView) {
  return nodes.flatMap(({ node }) => (node?.metadata.labels[labels.nodePool] === pool ? [node] : []))
}

function isInitialized({ node }: Candidate): boolean {
  return node.metadata.labels[labels.initialized] === 'true'
}

function treat(patient: Patient, context: MethodContext): DisruptionCommand | undefined {
  const { candidate, repair } = patient
  if (repair.action === 'RebootNode') return chosen(patient, { decision: 'reboot', replacements: [] }, context)
  if (candidate.nodePool.isStatic) return replaceStatic(patient, context)
  const { simulator, settings } = context
  if (!simulator.hasPools) return left(candidate, { kind: 'no-ready-pool' }, context)
  const how = { isConsolidation: false, isUrgent: true }
  const { problems, plan } = simulator.without([candidate], how)
  if (problems.length > 0) {
    const refilled = settings.terminateFirst.repair ? refillable(candidate, context, how) : undefined
    if (refilled === undefined) return left(candidate, withoutPlace(problems), context)
    return chosen(patient, { decision: 'terminate-first', replacements: [], plan: refilled.plan }, context)
  }
  const { newNodeClaims: replacements } = plan
  const decision = replacements.length === 0 ? 'delete' : 'replace'
  return chosen(patient, { decision, replacements, plan }, context)
}

/** A static pool gets one node from its template for each that goes. It scales down first, and needs room for both, or its gate. */
function replaceStatic(patient: Patient, context: MethodContext): DisruptionCommand | undefined {
  const { candidate } = patient
  const { nodePool } = candidate
  const counts = countsOf(poolOf(candidate), context.view)
  if (counts.active + counts.leaving > (nodePool.replicas ?? 0)) {
    context.note({ candidate, outcome: 'hindered', cause: { kind: 'other-static-first' } })
    return undefined
  }
  const gated = { ...context, isGateOn: context.settings.terminateFirst.repair }
  const shortage = shortageOf(nodePool, counts, gated)
  if (shortage === undefined)
    return chosen(patient, { decision: 'replace', replacements: [staticClaim(nodePool)] }, context)
  const cause = hindranceOf(candidate, shortage, gated)
  if (cause !== undefined) return left(candidate, cause, context)
  return chosen(patient, { decision: 'terminate-first', replacements: [] }, context)
}

/** Records why a sick node is left alone. */
function left(candidate: Candidate, cause: Cause, context: MethodContext): undefined {
  context.note({ candidate, outcome: 'hindered', cause, event: 'DisruptionBlocked' })
}

function chosen(
  { candidate, repair: { condition, reason, action, boundMs } }: Patient,
  outcome: Pick<DisruptionCommand, 'decision' | 'replacements' | 'plan'>,
  context: MethodContext,
): DisruptionCommand {
  if (isInitialized(candidate)) takeBudget(context, candidate)
  const cause: Cause = { kind: 'chosen-unhealthy', condition, reason }
  context.note({ candidate, outcome: 'chosen', decision: outcome.decision, cause })
  return {
    method: 'repair',
    ...outcome,
    candidates: [candidate],
    savings: outcome.decision === 'reboot' ? 0 : savingsOf([candidate], outcome.replacements),
    repair: { condition, why: reason, action, ...(boundMs === undefined ? {} : { boundMs }) },
  }
}

function explain({ foundOthers }: Unnoted): Explanation {
  return foundOthers ? notLookedAt({ kind: 'other-unhealthy-first' }) : unsuitable({ kind: 'healthy' })
}

export const repair = {
  name: 'repair',
  // It simulates only where a node is replaced.
  simulates: false,
  isOn: ({ repairs = [] }) => repairs.length > 0,
  concerns: ({ node, claim }, { repairs = [] }) =>
    node !== undefined && claim !== undefined && sickConditions(node, repairs).length > 0,
  suits: () => true,
  compute,
  revalidate: (candidates, context) => firstOf(compute(candidates, context)),
  explain,
} as const satisfies Method
