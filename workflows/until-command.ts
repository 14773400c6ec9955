import { CancellationScope, condition, isCancellation } from '@temporalio/workflow'
import type { LoopPause } from './pausing.ts'

/** Runs a long poll. An operator's command cancels it, and so does `untilMs` (epoch ms), of which `timer` says why. Undefined when the poll was interrupted. */
export async function untilCommand<Outcome>(
  pause: LoopPause,
  poll: () => Promise<Outcome>,
  {
    alsoWhen = () => false,
    untilMs,
    timer = '',
  }: { readonly alsoWhen?: () => boolean; readonly untilMs?: number; readonly timer?: string } = {},
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
    else await condition(ended, Math.max(untilMs - Date.now(), 1), { summary: timer })
    if (!isDone) scope.cancel()
    return await running
  } catch (error) {
    // Applies only to a command's interruption: cancellation of the loop itself ends it.
    if (isCancellation(error) && !CancellationScope.current().consideredCancelled) return undefined
    throw error
  }
}
