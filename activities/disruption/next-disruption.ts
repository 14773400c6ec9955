import { isTrue } from '../../core/conditions.ts'
import { type DisruptionMethod, methodFacts, methodNames } from '../../core/disruption/command.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import { methodsFor } from '../../core/disruption/plan/plan.ts'
import { sickConditions } from '../../core/node-repair/node-repair.ts'
import type { Pauses } from '../../core/pauses/pauses.ts'
import { pauseFor } from '../activity-context.ts'
import type { PauseConditionsDeps } from '../kubernetes/pauses/pause-conditions.ts'
import { refreshPauses } from '../kubernetes/pauses/pause-conditions.ts'
import { instanceTypes } from '../node-overlays/pool-types.ts'
import { fenceVersion } from '../provisioning/fence.ts'
import type { AbandonedDeps } from './abandoned.ts'
import { releaseAbandoned } from './abandoned.ts'
import type { ClaimConditionsDeps } from './claim-conditions.ts'
import { keepClaimConditions } from './claim-conditions.ts'
import type { DisruptionInput, DisruptionOutcome, DisruptionProposal } from './contract.ts'
import type { DisruptionEventDeps } from './events.ts'
import { publishFindings } from './events.ts'
import { type DisruptionMemory, memoryOf } from './memory.ts'
import { proposalsOf } from './proposals.ts'
import type { ProtectionEventsDeps } from './protection-events.ts'
import { publishProtections } from './protection-events.ts'
import type { TellEvaluationDeps } from './publish-evaluation.ts'
import { publishEvaluation } from './publish-evaluation.ts'
import type { RequestEventsDeps } from './request-events.ts'
import { publishConsolidateNow } from './request-events.ts'
import { removeSurplus, type SurplusDeps } from './surplus.ts'
import type { VerdictsDeps } from './verdicts.ts'
import { recordVerdicts } from './verdicts.ts'
import type { EvaluationDeps } from './world.ts'
import { evaluateCluster } from './world.ts'

export interface NextDisruptionDeps
  extends PauseConditionsDeps,
    ClaimConditionsDeps,
    ProtectionEventsDeps,
    AbandonedDeps,
    SurplusDeps,
    TellEvaluationDeps,
    DisruptionEventDeps,
    VerdictsDeps,
    RequestEventsDeps,
    EvaluationDeps {}

/** Interval of evaluations without a change that brings one forward (reference/karpenter-core.md 4.1). */
const lookEveryMs = 10_000
const pollMs = 30 * 60_000
/** Time to collect a burst of changes into one evaluation. */
const burstMs = 50
/** Time after which a fruitless evaluation is repeated although nothing changed; earlier where a budget has a schedule. */
const spareMs = 5 * 60_000
const spareScheduledMs = 30_000
/** Passes without a result take up no more than a fifth of a core, however fast pods come and go. */
const restPerWork = 4

/**
 * Evaluates the cluster until something should be disrupted. Writes only conditions and events, releases what no command holds, and deletes what static
 * NodePools have too many.
 */
export async function nextDisruption(
  deps: NextDisruptionDeps,
  input: DisruptionInput,
  signal: AbortSignal,
): Promise<DisruptionOutcome> {
  const untilMs = deps.now() + pollMs
  for (const method of input.abandoned ?? []) deps.disruptionMetrics.proposed(method, 'abandoned')
  await deps.cache.synced()
  await deps.quarantine.refresh(true)
  const memory = memoryOf(deps)
  const fence = await fenceVersion(deps, 'joiner-disruption-fence')
  const isLatest = async () => (await fenceVersion(deps, 'joiner-disruption-fence')) === fence
  do {
    signal.throwIfAborted()
    await deps.quarantine.refresh()
    const pauses = await refreshPauses(deps)
    if (pauses.wholeLoop !== undefined) return { kind: 'paused' }
    await keepClaimConditions(deps)
    publishProtections(deps)
    await releaseAbandoned(deps, memory, { isLatest, signal })
    await removeSurplus(deps, { pauses, isLatest, signal })
    const startedAt = deps.now()
    // Later changes may not be in the evaluation any more.
    const { changes, urgentChanges } = memory
    const { proposals, nextMs } = await pass(deps, memory, { input, pauses, changes })
    if (proposals.length > 0) return { kind: 'proposed', proposals }
    if (input.once) break
    const rest = Math.max(burstMs, restPerWork * (deps.now() - startedAt))
    await untilWorthALook(deps, { memory, urgentChanges, nextMs, rest }, signal)
  } while (deps.now() < untilMs)
  return { kind: 'idle' }
}

interface PassInput {
  readonly input: DisruptionInput
  readonly pauses: Pauses
  /** Number of cluster changes that had been seen when the pass began. */
  readonly changes: number
}

interface PassResult {
  readonly proposals: readonly DisruptionProposal[]
  /** When time alone may change the result, in epoch ms. */
  readonly nextMs: number
}

async function pass(deps: NextDisruptionDeps, memory: DisruptionMemory, given: PassInput): Promise<PassResult> {
  const { input, changes } = given
  const inputs = input.forced ? [] : dependsOn(deps, given)
  if (!input.forced && memory.isSpared(inputs)) return { proposals: [], nextMs: memory.sparedUntil }
  const evaluation = await evaluated(deps, memory, given)
  publishEvaluation(deps, evaluation)
  publishFindings(deps, evaluation)
  if (!input.forced) recordVerdicts(deps, evaluation)
  const proposals = proposalsOf(evaluation.commands, input.forced)
  if (input.forced) publishConsolidateNow(deps, input.request ?? {}, proposals)
  const nextMs = Math.min(evaluation.nextChange ?? Number.POSITIVE_INFINITY, memory.restUntil())
  if (!input.forced && proposals.length === 0) {
    const spareUntil = deps.now() + (hasScheduledBudgets(deps) ? spareScheduledMs : spareMs)
    memory.fruitless(changes, inputs, Math.min(nextMs, spareUntil))
  }
  return { proposals, nextMs }
}

/** Returns what an evaluation depends on besides the objects of the cluster. */
function dependsOn(deps: NextDisruptionDeps, { input, pauses }: PassInput): readonly unknown[] {
  const prices = [...instanceTypes(deps)].flat()
  const nominated = [...deps.nominations.targets(deps.now())].sort()
  return [...prices, JSON.stringify([input.validating ?? null, pauses.inForce, nominated])]
}

/** Evaluates repair and drift first: they must not wait for a long search for savings. */
async function evaluated(
  deps: NextDisruptionDeps,
  memory: DisruptionMemory,
  { input: { forced, request, validating }, pauses }: PassInput,
): Promise<Evaluation> {
  const { budget, by: _, ...scope } = request ?? {}
  const settings = {
    pauses,
    forced,
    ...(forced ? {} : { resting: memory.resting() }),
    ...(request === undefined ? {} : { scope }),
    ...(budget === undefined ? {} : { mostNodes: budget }),
    ...(validating === undefined ? {} : { reserved: new Set(validating.nodeClaims) }),
  }
  const methods = forced ? methodsFor({}) : methodsBeside(validating?.methods ?? [])
  if (methods === methodNames && isUrgent(deps)) {
    const first = await evaluateCluster(deps, { ...settings, methods: ['emptiness', ...methodsAtOnce] })
    if (first.commands.length > 0) return first
  }
  return evaluateCluster(deps, { ...settings, methods })
}

/** Methods whose commands are committed without a validation later on. */
const methodsAtOnce = methodNames.filter((method) => methodFacts[method].validation === 'immediate')

/** Returns the methods that may go on while a command waits to be validated: those whose commands wait for nothing. */
function methodsBeside(validating: readonly DisruptionMethod[]): readonly DisruptionMethod[] {
  return validating.some((method) => methodFacts[method].validation === 'delayed') ? methodsAtOnce : methodNames
}

/** Whether a node has drifted, or is sick. */
function isUrgent({ cache, repairPolicies }: NextDisruptionDeps): boolean {
  for (const node of cache.nodes.values()) if (sickConditions(node, repairPolicies).length > 0) return true
  for (const { status } of cache.nodeClaims.values()) if (isTrue(status.conditions, 'Drifted')) return true
  return false
}

function hasScheduledBudgets({ cache }: NextDisruptionDeps): boolean {
  return [...cache.nodePools.values()].some(({ disruption }) =>
    disruption.budgets.some(({ schedule }) => schedule !== undefined && schedule !== null),
  )
}

/** The wait between two passes. */
interface Rest {
  readonly memory: DisruptionMemory
  /** Number of urgent changes that had been seen when the last pass began. */
  readonly urgentChanges: number
  /** When time alone may change the result, in epoch ms. */
  readonly nextMs: number
  /** Shortest time of the wait, in milliseconds. */
  readonly rest: number
}

/** Waits until a change may have freed nodes, or until the time for an evaluation has come. */
async function untilWorthALook(
  deps: NextDisruptionDeps,
  { memory, urgentChanges, nextMs, rest }: Rest,
  signal: AbortSignal,
): Promise<void> {
  const wakeMs = Math.min(lookEveryMs, Math.max(nextMs - deps.now(), 100, rest))
  const isNews = () => memory.urgentChanges > urgentChanges
  // The memory listens before any wait does, so its count is up to date here.
  if (isNews() || (await deps.cache.changeWithin(wakeMs, isNews, signal)))
    await pauseFor(Math.min(rest, lookEveryMs), signal)
}
