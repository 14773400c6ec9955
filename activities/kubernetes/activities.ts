import { withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import { claimSpan, launchEnds } from '../telemetry/claim-spans.ts'
import { deleteCandidates, undoCommand } from './commands/candidates.ts'
import { completed } from './commands/older-commands.ts'
import { awaitReplacements } from './commands/replacements.ts'
import type { KubernetesActivities } from './contract.ts'
import type { KubernetesDeps } from './dependencies.ts'
import { drain } from './draining/drain.ts'
import { finalize } from './draining/finalize.ts'
import { awaitInitialization, awaitRegistration } from './lifecycle/joining.ts'
import { writeHold } from './lifecycle/node-requests.ts'
import { giveUp, observe } from './lifecycle/observe.ts'
import { changePauses, pausesInForce } from './pauses/pause-changes.ts'

/** The activities of the core and wait queues. */
export function createKubernetesActivities(deps: KubernetesDeps): KubernetesActivities {
  return translatingFailures<KubernetesActivities>({
    observe: ({ claim, retried }) => observe(deps, claim, retried),
    writeHold: (input) => writeHold(deps, input),
    giveUp: async (input) => {
      await launchEnds(deps, input.claim, `${input.reason}: ${input.message}`)
      return giveUp(deps, input)
    },
    finalize: ({ claim, ...how }) => finalize(deps, claim, how),
    writePause: (change) => changePauses(deps, change),
    readPause: ({ loop }) => pausesInForce(deps, loop),
    undoCommand: (input) => withHeartbeats(() => undoCommand(deps, input)),
    awaitReplacements: (input) => withHeartbeats((signal) => awaitReplacements(deps, input, signal)),
    awaitRegistration: ({ claim }) =>
      withHeartbeats((signal) =>
        claimSpan(deps, { step: 'awaitRegistration', claim }, () => awaitRegistration(deps, claim, signal)),
      ),
    awaitInitialization: ({ claim }) =>
      withHeartbeats(async (signal) => {
        const outcome = await claimSpan(deps, { step: 'awaitInitialization', claim }, () =>
          awaitInitialization(deps, claim, signal),
        )
        if (outcome.kind === 'initialized') await launchEnds(deps, claim)
        return outcome
      }),
    drain: (input) => withHeartbeats((signal) => drain(deps, input, signal)),
    deleteCandidates: (input) => withHeartbeats((signal) => deleteCandidates(deps, completed(input), signal)),
  })
}
