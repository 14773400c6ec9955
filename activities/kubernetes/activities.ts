import { totalMs } from '../../core/node-claim/time-away.ts'
import { withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import { type ClaimSpansDeps, claimSpan, launchEnds } from '../telemetry/claim-spans.ts'
import { type CandidatesDeps, deleteCandidates, undoCommand } from './commands/candidates.ts'
import { awaitReplacements, type ReplacementsDeps } from './commands/replacements.ts'
import type { KubernetesActivities } from './contract.ts'
import { type DrainDeps, drain, drainEmpty } from './draining/drain.ts'
import { type FinalizeDeps, finalize } from './draining/finalize.ts'
import { takeCancellation } from './lifecycle/cancellation.ts'
import { claimStep } from './lifecycle/claim-step.ts'
import { taintIdleNodes } from './lifecycle/idle-nodes.ts'
import { awaitInitialization, type JoiningDeps } from './lifecycle/joining.ts'
import { writeHold } from './lifecycle/node-requests.ts'
import { giveUp, observe } from './lifecycle/observe.ts'
import { changePauses, type PauseChangesDeps, pausesInForce } from './pauses/pause-conditions.ts'
import { type AwaitRebootDeps, awaitReboot, endReboot } from './rebooting/await-reboot.ts'
import { prepareReboot } from './rebooting/prepare-reboot.ts'

export interface KubernetesActivityDeps
  extends ClaimSpansDeps,
    FinalizeDeps,
    PauseChangesDeps,
    CandidatesDeps,
    ReplacementsDeps,
    JoiningDeps,
    AwaitRebootDeps,
    DrainDeps {}

/** Returns the activities of the core and wait queues. */
export function createKubernetesActivities(deps: KubernetesActivityDeps): KubernetesActivities {
  return translatingFailures<KubernetesActivities>({
    observe: async ({ claim, retried }) => {
      const seen = await observe(deps, claim, retried)
      const isDrained = seen.step.kind === 'terminate' && (await drainEmpty(deps, claim))
      return isDrained ? { ...seen, step: { kind: 'terminate', isDrained } } : seen
    },
    writeHold: (input) => writeHold(deps, input),
    takeCancellation: ({ claim, asked }) => takeCancellation(deps, claim, asked),
    giveUp: async (input) => {
      await launchEnds(deps, input.claim, `${input.reason}: ${input.message}`)
      return giveUp(deps, input)
    },
    finalize: ({ claim, ...how }) => finalize(deps, claim, how),
    writePause: (change) => changePauses(deps, change),
    readPause: ({ loop }) => pausesInForce(deps, loop),
    taintIdleNodes: ({ nodes }) => withHeartbeats((signal) => taintIdleNodes(deps, nodes, signal)),
    undoCommand: (input) => withHeartbeats(() => undoCommand(deps, input)),
    awaitReplacements: ({ replacements, readyByMs, idleSinceMs }) =>
      withHeartbeats(
        (signal, { gaps }) => awaitReplacements(deps, { replacements, readyByMs: readyByMs + totalMs(gaps) }, signal),
        { idleSinceMs, now: deps.now },
      ),
    awaitInitialization: ({ claim }) =>
      withHeartbeats(async (signal) => {
        const outcome = await claimSpan(deps, { step: 'awaitInitialization', claim }, () =>
          awaitInitialization(deps, claim, signal),
        )
        if (outcome.kind === 'initialized') await launchEnds(deps, claim)
        return outcome
      }),
    prepareReboot: (input) => claimStep(deps, input, (signal) => prepareReboot(deps, input, signal)),
    awaitReboot: (input) => claimStep(deps, input, (signal) => awaitReboot(deps, input, signal)),
    endReboot: ({ claim, failure }) => endReboot(deps, claim, failure),
    drain: (input) => withHeartbeats((signal) => drain(deps, input, signal)),
    deleteCandidates: (input) => withHeartbeats((signal) => deleteCandidates(deps, input, signal)),
  })
}
