import { activityScope, type Step, withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import { finalize } from '../kubernetes/draining/finalize.ts'
import { claimStep } from '../kubernetes/lifecycle/claim-step.ts'
import { LatestOnly } from '../latest-only.ts'
import { claimSpan } from '../telemetry/claim-spans.ts'
import { type ArmTurnDeps, inTurn, inTurnWhileWanted } from './arm/arm-turn.ts'
import type { AzureActivities, LaunchOutcome, MaintenanceActivities } from './contract.ts'
import { type AwaitNodeDeps, awaitNode, awaitNodeSoon } from './join/await-node.ts'
import { type ForceFinishDeps, forceFinish } from './launch/force-finish.ts'
import { deleteInstance, findInstance } from './launch/instance.ts'
import { launch } from './launch/launch.ts'
import { withinLaunchLimits } from './launch-limits.ts'
import { makerOf } from './machines/instance-of.ts'
import type { MachineLaunchDeps } from './machines/launch-machine.ts'
import type { Maintenance } from './maintenance/maintenance.ts'
import { type RestartDeps, restartInstance } from './rebooting/restart.ts'

export interface AzureActivityDeps
  extends MachineLaunchDeps,
    AwaitNodeDeps,
    ForceFinishDeps,
    RestartDeps,
    ArmTurnDeps {}

type LaunchInput = Parameters<AzureActivities['launch']>[0]

/** Longest wait for a launch's turn: an attempt has two minutes, and should have some left when its turn comes. */
const launchPatienceMs = 90_000
/** Longest wait for a deletion's turn: it is not urgent, and waiting costs nothing. */
const deletionPatienceMs = 3_600_000

/** Returns the activities of the azure queue. */
export function createAzureActivities(deps: AzureActivityDeps): AzureActivities {
  const launches = new LatestOnly()
  const launchWithinLimits = ({ claim, attempt, limits }: LaunchInput, whole: AbortSignal, step: Step) => {
    // An attempt that ended without saying how was that of a process that is gone.
    const followsLoss = !activityScope().isFirst && !step.followsFailure
    return withinLaunchLimits(deps, { ref: claim, step, signal: whole, limits }, ({ signal, lookOnly }) => {
      const work = () =>
        claimSpan(deps, { step: 'launch', claim }, () =>
          launch({ ...deps, maker: makerOf(deps) }, { claim, attempt, lookOnly, followsLoss }, signal),
        )
      if (lookOnly) return work()
      return inTurnWhileWanted<LaunchOutcome>(deps, claim, {
        buckets: ['armWrites', 'createVm'],
        patienceMs: launchPatienceMs,
        signal,
        work,
        gone: { kind: 'claimGone' },
      })
    })
  }
  return translatingFailures<AzureActivities>({
    launch: (input) =>
      claimStep(deps, input, (whole, step) =>
        launches.run(input.claim.uid, whole, async (signal) => {
          const outcome = await launchWithinLimits(input, signal, step)
          // A lifecycle of an earlier version waits by itself.
          if (outcome.kind !== 'launched' || input.limitMs === undefined) return outcome
          return awaitNodeSoon(deps, input, { launched: outcome, signal })
        }),
      ),
    findInstance: ({ claim }) => findInstance(deps, claim),
    awaitNode: (input) => claimStep(deps, input, (signal) => awaitNode(deps, input, signal)),
    deleteInstance: ({ claim, finalize: isLast }) =>
      withHeartbeats(async (signal) => {
        const turn = { buckets: ['armDeletes', 'deleteVm'], patienceMs: deletionPatienceMs, signal } as const
        const found = await inTurn(deps.budget, turn, () => deleteInstance(deps, claim, signal))
        if (isLast) await finalize(deps, claim)
        return found
      }),
    restartInstance: (input) =>
      claimStep(deps, input, (signal, step) => restartInstance(deps, { ref: input.claim, ...step }, signal)),
    forceFinish: (input) => withHeartbeats(() => forceFinish(deps, input)),
  })
}

/** Returns the activities of the process that maintains the cluster. */
export function createMaintenanceActivities(maintenance: Maintenance): MaintenanceActivities {
  return translatingFailures<MaintenanceActivities>({
    maintain: (input) => withHeartbeats((signal) => maintenance.run(signal, input)),
  })
}
