import { withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import { claimSpan, launchEnds } from '../telemetry/claim-spans.ts'
import { deleteCandidates, undoCommand } from './commands/candidates.ts'
import { awaitReplacements } from './commands/replacements.ts'
import type { KubernetesActivities } from './contract.ts'
import type { KubernetesDeps } from './dependencies.ts'
import { drain } from './draining/drain.ts'
import { finalize } from './draining/finalize.ts'
import { awaitInitialization } from './lifecycle/joining.ts'
import { writeHold } from './lifecycle/node-requests.ts'
import { giveUp, observe } from './lifecycle/observe.ts'
import { changePauses, pausesInForce } from './pauses/pause-changes.ts'

/** The activities of the core and wait queues. */
export function createKubernetesActivities(deps: KubernetesDeps): KubernetesActivities {
  return translatingFailures<KubernetesActivities>({
    observe: ({ claim, retried }) => observe(deps, claim, retried),
    writeHold: (input) => writeHold(deps, input),
    giveUp: async ({ claim, reason, message }) => {
      await launchEnds(deps, claim, `${reason}: ${message}`)
      return giveUp(deps, claim, reason, message)
    },
    finalize: ({ claim, ...how }) => finalize(deps, claim, how),
    writePause: (change) => changePauses(deps, change),
    readPause: ({ loop }) => pausesInForce(deps, loop),
    undoCommand: (input) => withHeartbeats(() => undoCommand(deps, input)),
    awaitReplacements: (input) => withHeartbeats((signal) => awaitReplacements(deps, input, signal)),
    awaitInitialization: ({ claim }) =>
      withHeartbeats(async (signal) => {
        const outcome = await claimSpan(deps, 'awaitInitialization', claim, () =>
          awaitInitialization(deps, claim, signal),
        )
        if (outcome.kind === 'initialized') await launchEnds(deps, claim)
        return outcome
      }),
    drain: ({ claim, told }) => withHeartbeats((signal) => drain(deps, claim, told, signal)),
    deleteCandidates: (input) => withHeartbeats((signal) => deleteCandidates(deps, input, signal)),
  })
}
