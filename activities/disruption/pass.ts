import { isTrue } from '../../core/conditions.ts'
import { budgetFindings } from '../../core/disruption/budgets/budget-check.ts'
import { type DisruptionMethod, methodNames } from '../../core/disruption/command.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import { methodsFor } from '../../core/disruption/plan/plan.ts'
import type { ConsolidateRequest } from '../../core/disruption/plan/plan-requests.ts'
import { sickConditions } from '../../core/node-repair/node-repair.ts'
import type { Pauses } from '../../core/pauses/pauses.ts'
import type { Parts } from '../kubernetes/parts.ts'
import { type PauseConditionsDeps, refreshPauses } from '../kubernetes/pauses/pause-conditions.ts'
import { instanceTypes } from '../node-overlays/pool-types.ts'
import type { Fence } from '../provisioning/fence.ts'
import { type ClaimConditionsDeps, keepClaimConditions } from './claim-conditions.ts'
import type { Committer } from './commit/committer.ts'
import type { DisruptionProposal, PassOutcome } from './contract.ts'
import { type DisruptionEventDeps, publishFindings } from './events.ts'
import type { DisruptionMemory } from './memory.ts'
import type { DisruptionMetrics } from './metrics.ts'
import { publishConsolidateNow, type RequestEventsDeps } from './plans/request-events.ts'
import { proposalsOf } from './proposals.ts'
import { methodsAtOnce } from './validations.ts'
import { recordVerdicts, type VerdictsDeps } from './verdicts.ts'
import { type EvaluationDeps, evaluateCluster } from './world.ts'

export interface PassDeps
  extends PauseConditionsDeps,
    ClaimConditionsDeps,
    PublishEvaluationDeps,
    DisruptionEventDeps,
    VerdictsDeps,
    RequestEventsDeps,
    EvaluationDeps {
  readonly committer: Pick<Committer, 'validations'>
}

/** Time after which a fruitless evaluation is repeated although nothing changed; earlier where a budget has a schedule. */
const spareMs = 5 * 60_000
const spareScheduledMs = 30_000

interface PassResult {
  readonly proposals: readonly DisruptionProposal[]
  /** When time alone may change the result, in epoch ms. */
  readonly nextMs: number
}

/** What a pass may do. */
interface Allowed {
  readonly pauses: Pauses
  readonly methods: readonly DisruptionMethod[]
}

/** Evaluates the cluster, unless that would only repeat the last pass, which had no result. */
export async function pass(
  deps: PassDeps,
  memory: DisruptionMemory,
  { pauses, fence }: Pick<Allowed, 'pauses'> & { readonly fence: Fence },
): Promise<PassResult> {
  // Later changes may not be in the evaluation any more.
  const { changes } = memory
  const { methods, untilMs } = deps.committer.validations.methodsBeside(deps.now())
  // Of what an attempt before has found nothing may have been kept.
  const inputs = [fence, ...dependsOn(deps, { pauses, methods })]
  if (memory.isSpared(inputs)) return { proposals: [], nextMs: memory.sparedUntil }
  const evaluation = await evaluated(deps, memory, { pauses, methods })
  publishEvaluation(deps, evaluation)
  publishFindings(deps, evaluation)
  recordVerdicts(deps, fence, evaluation)
  const proposals = proposalsOf(evaluation.commands, { atMs: deps.now(), isForced: false, isAsked: false })
  const nextMs = Math.min(evaluation.nextChange ?? Number.POSITIVE_INFINITY, memory.restUntil(), untilMs)
  if (proposals.length === 0) {
    const spareUntil = deps.now() + (hasScheduledBudgets(deps) ? spareScheduledMs : spareMs)
    memory.fruitless(changes, inputs, Math.min(nextMs, spareUntil))
  }
  return { proposals, nextMs }
}

/** Evaluates the cluster at once, as an operator asks: consolidateAfter does not apply, nor back-offs, nor what waits to be validated. */
export async function consolidateNow(deps: PassDeps, request: ConsolidateRequest): Promise<PassOutcome> {
  await deps.cache.synced()
  await deps.quarantine.refresh(true)
  const pauses = await refreshPauses(deps)
  if (pauses.wholeLoop !== undefined) return { kind: 'paused' }
  await keepClaimConditions(deps)
  const { budget, by: _, ...scope } = request
  const evaluation = await evaluateCluster(deps, {
    pauses,
    forced: true,
    methods: methodsFor({}),
    ...(Object.keys(request).length === 0 ? {} : { scope }),
    ...(budget === undefined ? {} : { mostNodes: budget }),
  })
  publishEvaluation(deps, evaluation)
  publishFindings(deps, evaluation)
  const proposals = proposalsOf(evaluation.commands, { atMs: deps.now(), isForced: true, isAsked: true })
  publishConsolidateNow(deps, request, proposals)
  return { kind: 'proposed', proposals }
}

/** Returns what an evaluation depends on besides the objects of the cluster. */
function dependsOn(deps: PassDeps, { pauses, methods }: Allowed): readonly unknown[] {
  const prices = [...instanceTypes(deps)].flat()
  const nominated = [...deps.nominations.targets(deps.now())].sort()
  return [
    ...prices,
    deps.serverTime.isOwnWrong(),
    JSON.stringify([[...deps.committer.validations.nodeClaims], methods, pauses.inForce, nominated]),
  ]
}

/** Evaluates repair and drift first: they must not wait for a long search for savings. */
async function evaluated(deps: PassDeps, memory: DisruptionMemory, { pauses, methods }: Allowed): Promise<Evaluation> {
  const { nodeClaims: reserved } = deps.committer.validations
  const settings = { pauses, forced: false, resting: memory.resting(), ...(reserved.size === 0 ? {} : { reserved }) }
  if (methods === methodNames && isUrgent(deps)) {
    const first = await evaluateCluster(deps, { ...settings, methods: ['emptiness', ...methodsAtOnce] })
    if (first.commands.length > 0) return first
  }
  return evaluateCluster(deps, { ...settings, methods })
}

/** Whether a node has drifted, or is sick. */
function isUrgent({ cache, repairPolicies }: PassDeps): boolean {
  for (const node of cache.nodes.values()) if (sickConditions(node, repairPolicies).length > 0) return true
  for (const { status } of cache.nodeClaims.values()) if (isTrue(status.conditions, 'Drifted')) return true
  return false
}

function hasScheduledBudgets({ cache }: PassDeps): boolean {
  return [...cache.nodePools.values()].some(({ disruption }) =>
    disruption.budgets.some(({ schedule }) => schedule !== undefined && schedule !== null),
  )
}

export type PublishEvaluationDeps = Pick<Parts, 'cache' | 'log' | 'disruptionMetrics' | 'now'>

/** Publishes an evaluation's passes and judgements in metrics, and logs unreadable budgets, which block their pool. */
export function publishEvaluation(
  deps: PublishEvaluationDeps,
  { passes, notes }: Pick<Evaluation, 'passes' | 'notes'>,
): void {
  const unreadable = new Set<string>()
  for (const { method, eligible, milliseconds, budgets } of passes) {
    deps.disruptionMetrics.evaluated(method, milliseconds)
    deps.disruptionMetrics.eligible(method, eligible)
    for (const [nodePool, { invalid }] of budgets) if (invalid) unreadable.add(nodePool)
  }
  for (const nodePool of unreadable) {
    const budgets = deps.cache.nodePools.get(nodePool)?.disruption.budgets ?? []
    const problems = budgetFindings(budgets, deps.now()).filter(({ isBlocking }) => isBlocking)
    for (const { message } of problems) deps.log.error({ nodePool }, message)
  }
  for (const note of notes) reportMove(deps.disruptionMetrics, note)
}

/** Counts consolidations of single nodes that were judged; upstream counts no others. */
function reportMove(
  metrics: DisruptionMetrics,
  { method, candidate, outcome, scores }: Evaluation['notes'][number],
): void {
  if (method !== 'single-node' || scores === undefined) return
  const { metadata, disruption } = candidate.nodePool
  const [score] = scores
  metrics.scored({
    decision: outcome === 'chosen' ? 'approved' : 'rejected',
    nodePool: metadata.name,
    policy: disruption.consolidationPolicy,
    ...(score === undefined ? {} : { score: score.value }),
  })
}
