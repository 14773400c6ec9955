import { awayAnnotation } from '../../../core/node-claim/time-away.ts'
import { type Step, withHeartbeats } from '../../activity-context.ts'
import { updateClaim } from '../client/object-writes.ts'
import type { Ended, StepInput } from '../contract.ts'
import type { WriteDeps } from '../parts.ts'

/**
 * Runs a step of a lifecycle whose time is limited, with heartbeats. The NodeClaim first gets the time without a worker, which its limits do not count;
 * so it is known even after Temporal has lost its data. The outcome says when the step ended.
 */
export function claimStep<Outcome extends object>(
  deps: WriteDeps,
  { claim, idleSinceMs }: StepInput,
  work: (signal: AbortSignal, step: Step) => Promise<Outcome>,
): Promise<Outcome & Ended> {
  return withHeartbeats(
    async (signal, step) => {
      if (step.gaps.length > 0)
        await updateClaim(deps, claim, (current) => {
          const annotations = awayAnnotation(current, step.gaps)
          return annotations === undefined ? undefined : { metadata: { annotations } }
        })
      return { ...(await work(signal, step)), endedMs: deps.now() }
    },
    { idleSinceMs, now: deps.now },
  )
}
