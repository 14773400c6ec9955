import {
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { ProvisioningOutcome } from '../activities/provisioning/contract.ts'
import { planningPolls } from './activities.ts'
import { loopStatusQuery } from './messages.ts'
import { LoopPause } from './pausing.ts'

export interface LoopInput {
  readonly cluster: string
  readonly state?: {
    readonly rounds: number
  }
}

/** Runs for ever: waits for pending pods, plans, creates NodeClaims (design: workflows, provisioningLoop). */
export async function provisioningLoop(input: LoopInput): Promise<void> {
  const pause = new LoopPause('provisioning')
  let rounds = input.state?.rounds ?? 0
  let doing = 'starting'
  let sinceMs = Date.now()
  const enter = (what: string) => {
    if (doing !== what) sinceMs = Date.now()
    doing = what
    setCurrentDetails(
      `${what} since ${new Date(sinceMs).toISOString()}; ${rounds} rounds planned NodeClaims.${pause.refusedText}`,
    )
  }
  pause.listen({
    pause:
      'Create no NodeClaims until resumed: {"reason": "...", "until": "RFC 3339 time", "by": "..."}, all optional.',
    resume: 'Go on creating NodeClaims: {"at": the time now as RFC 3339, "by": "..."}; at is needed.',
  })
  setHandler(loopStatusQuery, () => ({ doing, sinceMs, rounds, ...pause.state }))
  await pause.during(async () => {
    await pause.recover()
    while (!workflowInfo().continueAsNewSuggested) {
      await pause.apply()
      if (pause.current !== undefined) {
        enter(`paused (${pause.current.reason})`)
        await pause.untilChanged(() => workflowInfo().continueAsNewSuggested)
        continue
      }
      enter('waiting for pods that need a node')
      const outcome = await untilCommand(pause, () =>
        planningPolls().nextProvisioning.executeWithOptions({ summary: 'next plan' }, []),
      )
      if (outcome?.kind === 'planned') rounds += 1
      if (outcome?.kind === 'paused') await pause.recover()
    }
    await pause.finish()
    await continueAsNew<typeof provisioningLoop>({ cluster: input.cluster, state: { rounds } })
  })
}

/** Runs a long poll. An operator's command cancels it, and so does `untilMs` (epoch ms). Undefined when the poll was interrupted. */
export async function untilCommand<Outcome extends ProvisioningOutcome | { readonly kind: string }>(
  pause: LoopPause,
  poll: () => Promise<Outcome>,
  { alsoWhen = () => false, untilMs }: { readonly alsoWhen?: () => boolean; readonly untilMs?: number } = {},
): Promise<Outcome | undefined> {
  const scope = new CancellationScope()
  const running = scope.run(poll)
  const isAsked = () => pause.hasCommands || alsoWhen()
  let isDone = false
  running.then(
    () => {
      isDone = true
    },
    () => {
      isDone = true
    },
  )
  const ended = () => isDone || isAsked()
  try {
    if (untilMs === undefined) await condition(ended)
    else await condition(ended, Math.max(untilMs - Date.now(), 1))
    if (!isDone) scope.cancel()
    return await running
  } catch (error) {
    // Applies only to a command's interruption: cancellation of the loop itself ends it.
    if (isCancellation(error) && !CancellationScope.current().consideredCancelled) return undefined
    throw error
  }
}
