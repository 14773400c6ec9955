import {
  condition,
  continueAsNew,
  ParentClosePolicy,
  setCurrentDetails,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow'
import type { DisruptionOutcome, DisruptionProposal } from '../activities/planning/contract.ts'
import { disruptionCommandId } from '../core/task-queues.ts'
import { commits, polls } from './activities.ts'
import { disruptionCommand } from './disruption-command.ts'
import { listenForPlans } from './disruption-requests.ts'
import { consolidateNowSignal, loopStatusQuery } from './messages.ts'
import { LoopPause } from './pausing.ts'
import { type LoopInput, untilCommand } from './provisioning-loop.ts'

/** Between a proposal and its commit, so that pods about to land on a candidate save it (karpenter-core.md 4.9). */
const validationDelayMs = 15_000

/** For ever: evaluate, wait out the validation delay, commit, start the command. The loop is the only committer. */
export async function disruptionLoop(input: LoopInput): Promise<void> {
  const pause = new LoopPause('disruption', input.state?.pause, input.state?.partialPauses)
  let rounds = input.state?.rounds ?? 0
  let consolidateNow = input.state?.consolidateNow ?? false
  let doing = 'starting'
  let sinceMs = Date.now()
  const enter = (what: string) => {
    if (doing !== what) sinceMs = Date.now()
    doing = what
    setCurrentDetails(`${what} since ${new Date(sinceMs).toISOString()}; ${rounds} commands started.`)
  }
  const force = () => {
    consolidateNow = true
  }
  pause.listen(
    {
      pause:
        'Disrupt nothing, or nothing of a scope, until resumed: {"reason": "...", "until": "RFC 3339 time", "by": "...", "scope": {"nodePool" | "node" | "reason": "..."}}, all optional.',
      resume: 'Go on disrupting: {"scope": as it was paused, "all": true for every scope, "by": "..."}, all optional.',
    },
    { [consolidateNowSignal.name]: force },
  )
  setHandler(consolidateNowSignal, force, {
    description: 'Evaluate at once, without waiting for consolidateAfter; budgets still hold.',
  })
  listenForPlans()
  setHandler(loopStatusQuery, () => ({ doing, sinceMs, rounds, ...pause.state }))
  if (input.state === undefined) await pause.recover()

  const interrupted = () => pause.hasCommands || consolidateNow
  while (!workflowInfo().continueAsNewSuggested) {
    await pause.apply()
    if (pause.current !== undefined) {
      // A forced evaluation would write, which a pause forbids: the request is dropped, not kept for the resume.
      consolidateNow = false
      enter(`paused (${pause.current.reason})`)
      await pause.untilChanged(() => workflowInfo().continueAsNewSuggested)
      continue
    }
    enter('evaluating')
    const outcome = await evaluate(pause, consolidateNow, interrupted, () => {
      consolidateNow = false
    })
    if (outcome?.kind === 'paused') await pause.recover()
    if (outcome?.kind !== 'proposed') continue
    const { proposal } = outcome
    enter(`validating ${proposal.id}: ${proposal.reason} ${proposal.candidates.map((c) => c.name).join(', ')}`)
    if (!proposal.forced && (await condition(interrupted, validationDelayMs))) continue
    if (await commitAndStart(input.cluster, proposal, pause)) rounds += 1
  }
  await pause.finish()
  await continueAsNew<typeof disruptionLoop>({
    cluster: input.cluster,
    state: {
      rounds,
      ...pause.state,
      ...(consolidateNow ? { consolidateNow } : {}),
    },
  })
}

/** A forced evaluation answers after one pass; the long poll ends when a command arrives. */
async function evaluate(
  pause: LoopPause,
  forced: boolean,
  interrupted: () => boolean,
  taken: () => void,
): Promise<DisruptionOutcome | undefined> {
  if (forced) {
    taken()
    return polls().nextDisruption.executeWithOptions({ summary: 'forced by consolidateNow' }, [
      { once: true, forced: true },
    ])
  }
  return untilCommand(
    pause,
    () => polls().nextDisruption.executeWithOptions({ summary: 'next command' }, [{ once: false, forced: false }]),
    interrupted,
  )
}

async function commitAndStart(cluster: string, proposal: DisruptionProposal, pause: LoopPause): Promise<boolean> {
  const committed = await pause.applyWhile(
    commits().commitDisruption.executeWithOptions({ summary: proposal.id }, [{ proposal }]),
  )
  if (committed.kind === 'rejected') return false
  await startChild(disruptionCommand, {
    workflowId: disruptionCommandId(cluster, proposal.id),
    parentClosePolicy: ParentClosePolicy.ABANDON,
    args: [{ cluster, id: proposal.id, reason: proposal.reason, candidates: committed.candidates }],
    staticSummary: `${proposal.reason}: ${committed.candidates.length} nodes`,
  })
  return true
}
