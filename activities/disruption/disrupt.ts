import { methodFacts } from '../../core/disruption/command.ts'
import { pauseFor } from '../activity-context.ts'
import { forEachOf } from '../concurrency.ts'
import { refreshPauses } from '../kubernetes/pauses/pause-conditions.ts'
import { Fence, FenceLostError } from '../provisioning/fence.ts'
import { keepPlanning } from '../provisioning/keep-planning.ts'
import type { ReconcileMetrics } from '../telemetry/reconcile-metrics.ts'
import { type AbandonedDeps, releaseAbandoned } from './abandoned.ts'
import { keepClaimConditions } from './claim-conditions.ts'
import type { CommandStarter, Validating } from './command-starter.ts'
import type { CommitDeps } from './commit/commit.ts'
import type { Committer } from './commit/committer.ts'
import type { DisruptionProposal } from './contract.ts'
import { type DisruptionMemory, memoryOf } from './memory.ts'
import { type PassDeps, pass } from './pass.ts'
import { type ProtectionEventsDeps, publishProtections } from './protection-events.ts'
import { removeSurplus, type SurplusDeps } from './surplus.ts'

export interface DisruptDeps extends PassDeps, AbandonedDeps, SurplusDeps, ProtectionEventsDeps, CommitDeps {
  readonly commands: CommandStarter
  readonly committer: Committer
}

/** Time between a proposal and its commit, so that pods about to land on a candidate save it (reference/karpenter-core.md 4.9). */
const validationDelayMs = 15_000
/** Interval of evaluations without a change that brings one forward (reference/karpenter-core.md 4.1). */
const lookEveryMs = 10_000
/** How long a pause is believed before it is read again. A resume takes effect within it. */
const pausedMs = 1000
/** How often a commit that is due is looked for. */
const dueMs = 1000
/** Time to collect a burst of changes into one evaluation. */
const burstMs = 50
/** Passes without a result take up no more than a fifth of a core, however fast pods come and go. */
const restPerWork = 4
/** No command has this id. */
const nobody = 'none-0000000000-00000000'
/** Workflows that are started at once. */
const concurrency = 16

export interface DisruptionProcess {
  readonly deps: DisruptDeps
  readonly reconciles: ReconcileMetrics
  /** Fires when another process plans, or this one ends. */
  readonly signal: AbortSignal
}

/**
 * Disrupts for as long as this process is the planner: evaluates the cluster and starts a workflow for each proposal, which asks this process for its
 * commit when its validation delay is over. Nothing is proposed while Temporal is away: a start that fails ends the attempt, and the next begins with
 * Temporal's list of commands.
 */
export async function disrupt({ deps, reconciles, signal }: DisruptionProcess): Promise<void> {
  const { committer, log } = deps
  await keepPlanning({ what: 'disruption', log, signal }, async (attempt, wentWell) => {
    const fence = await begin(deps, attempt, signal)
    // Also where a write of verdicts has found another attempt: a restore of etcd brings one back.
    const ends = AbortSignal.any([signal, fence.lost])
    committer.lead({ deps, fence, signal })
    try {
      while (!signal.aborted) {
        await committer.idle()
        fence.lost.throwIfAborted()
        if (!committer.isLeading) throw new FenceLostError('a commit found another planner')
        const evaluating = committer.untilOvertaken(ends)
        const measured = { activity: 'disruptionPass', slots: 1, isCancelled: () => evaluating.aborted }
        await reconciles
          .measure(measured, () => step(deps, fence, evaluating))
          .catch((error: unknown) => {
            if (!evaluating.aborted) throw error
          })
        wentWell()
      }
    } finally {
      committer.follow()
    }
  })
}

/** Takes the fence, and reads what an earlier planner has written, and which commands it has started. */
async function begin(deps: DisruptDeps, attempt: number, signal: AbortSignal): Promise<Fence> {
  await deps.cache.synced()
  await deps.quarantine.refresh(true)
  const fence = (await Fence.take(deps, 'joiner-disruption-fence', `disruption/${attempt}`)).until(signal)
  await deps.cache.catchUp(['NodeClaim', 'Node'], signal)
  deps.committer.validations.restart(await validating(deps), deps.now())
  return fence
}

/** What Temporal lists. Where only the list is away, what it lacks is at worst proposed twice, and the second commit finds the first. */
async function validating({ commands, log }: DisruptDeps): Promise<readonly Validating[]> {
  try {
    return await commands.validating()
  } catch (error) {
    // Errors: Temporal is away.
    await commands.isRunning(nobody)
    log.warn({ err: error }, 'failed to list the commands that wait for their commit')
    return []
  }
}

/** One look at the cluster, and the wait until another is worth it. Errors: the signal's, `FenceLostError`, and those of Kubernetes and Temporal. */
async function step(deps: DisruptDeps, fence: Fence, signal: AbortSignal): Promise<void> {
  const { committer } = deps
  const { validations } = committer
  const memory = memoryOf(deps)
  await deps.quarantine.refresh()
  const pauses = await refreshPauses(deps)
  // Under a pause too: nobody else takes off what a command has left whose workflow is gone.
  await alone(committer, signal, () => releaseAbandoned(deps, memory, { fence, signal }))
  if (pauses.wholeLoop !== undefined) return pauseFor(pausedMs, signal)
  await keepClaimConditions(deps)
  publishProtections(deps)
  await alone(committer, signal, () => removeSurplus(deps, { pauses, fence, signal }))
  const late = await validations.forgetEnded(deps.commands, deps.now())
  if (late.length > 0) deps.log.warn({ commands: late }, 'commands wait for their commit longer than they should')
  if (validations.isDue(deps.now())) return validations.untilEnd(dueMs, signal)
  signal.throwIfAborted()
  const startedAt = deps.now()
  const { urgentChanges } = memory
  const { proposals, nextMs } = await pass(deps, memory, { pauses, fence })
  // What was decided before a commit may not hold after it.
  signal.throwIfAborted()
  if (proposals.length > 0) return start(deps, proposals)
  const rest = Math.max(burstMs, restPerWork * (deps.now() - startedAt))
  await untilWorthALook(deps, { memory, urgentChanges, nextMs, rest }, signal)
}

/** Does work beside which nothing is committed. Errors: the signal's, and those of the work. */
function alone(committer: Committer, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  return committer.exclusively(async () => {
    signal.throwIfAborted()
    await work()
  })
}

/** Starts the commands. Those of some methods are committed at once. Others wait to be validated again, in case pods are about to arrive. */
async function start(deps: DisruptDeps, proposals: readonly DisruptionProposal[]): Promise<void> {
  const { commands, committer, now } = deps
  await forEachOf(proposals, concurrency, async (proposal) => {
    const { id, method, candidates } = proposal
    const delayMs = methodFacts[method].validation === 'immediate' ? 0 : validationDelayMs
    const { validations } = committer
    validations.add({ id, method, nodeClaims: candidates.map(({ name }) => name), dueMs: now() + delayMs })
    let isStarted = false
    try {
      isStarted = await commands.start(proposal, delayMs)
    } finally {
      if (!isStarted) validations.ended(id)
    }
  })
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
  deps: DisruptDeps,
  { memory, urgentChanges, nextMs, rest }: Rest,
  signal: AbortSignal,
): Promise<void> {
  const wakeMs = Math.min(lookEveryMs, Math.max(nextMs - deps.now(), 100, rest))
  const isNews = () => memory.urgentChanges > urgentChanges
  // The memory listens before any wait does, so its count is up to date here.
  if (isNews() || (await deps.cache.changeWithin(wakeMs, isNews, signal)))
    await pauseFor(Math.min(rest, lookEveryMs), signal)
}
