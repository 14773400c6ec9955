import proto from '@temporalio/proto'
import { newActivity, waitsForCancellation } from '../activity-attempts.ts'
import { cancelledFailure } from '../activity-failures.ts'
import { type Command, type CommandKind, commandKind, type Job } from '../protocol.ts'
import type { OpenTask, PastActivation, PendingActivity, Run } from '../run.ts'

const { ActivityCancellationType } = proto.coresdk.workflow_commands
const { WorkflowTaskFailedCause } = proto.temporal.api.enums.v1

const endings: ReadonlySet<CommandKind> = new Set([
  'completeWorkflowExecution',
  'failWorkflowExecution',
  'cancelWorkflowExecution',
  'continueAsNewWorkflowExecution',
])

export const endsRun = (command: Command) => endings.has(commandKind(command))

/** What is begun and cancelled in the same task never reaches the server. Returns the test for such commands. */
export function elided(commands: readonly Command[]): (command: Command) => boolean {
  const both = (begin: CommandKind, cancel: CommandKind) => {
    const seqsOf = (kind: CommandKind) =>
      commands.flatMap((command) => (command[kind] as { readonly seq?: number } | null | undefined)?.seq ?? [])
    const cancelled = new Set(seqsOf(cancel))
    return new Set(seqsOf(begin).filter((seq) => cancelled.has(seq)))
  }
  const timers = both('startTimer', 'cancelTimer')
  const activities = both('scheduleActivity', 'requestCancelActivity')
  return ({ startTimer, cancelTimer, scheduleActivity, requestCancelActivity }) =>
    timers.has((startTimer ?? cancelTimer)?.seq ?? -1) ||
    activities.has((scheduleActivity ?? requestCancelActivity)?.seq ?? -1)
}

function refusedUpdates({ jobs, commands }: PastActivation): ReadonlySet<string> {
  const answers = commands.flatMap(({ updateResponse }) => updateResponse ?? [])
  const accepted = new Set(answers.filter((one) => one.accepted != null).map((one) => one.protocolInstanceId))
  const asked = new Set(jobs.map(({ doUpdate }) => doUpdate?.protocolInstanceId))
  // One that was accepted, now or before, and then failed has a `rejected` as its outcome.
  const refused = answers.filter(
    ({ rejected, protocolInstanceId: id }) => rejected != null && asked.has(id) && !accepted.has(id),
  )
  return new Set(refused.map(({ protocolInstanceId }) => protocolInstanceId ?? ''))
}

/** An update that its validator refused is in no history, so no replay sees it. */
export function withoutRefusedUpdates(activation: PastActivation): PastActivation {
  const refused = refusedUpdates(activation)
  if (refused.size === 0) return activation
  return {
    ...activation,
    jobs: activation.jobs.filter(({ doUpdate }) => !refused.has(doUpdate?.protocolInstanceId ?? '')),
    commands: activation.commands.filter(
      ({ updateResponse }) => !refused.has(updateResponse?.protocolInstanceId ?? ''),
    ),
  }
}

/** Whether a task did nothing but refuse updates: it leaves no event. */
export const isTraceless = (activations: readonly PastActivation[]) =>
  activations.length > 0 &&
  activations.every(({ commands }) => commands.every(({ updateResponse }) => updateResponse?.rejected != null))

export function cancelledJob(activity: PendingActivity): Job {
  const { seq } = activity.command
  const result = { cancelled: { failure: cancelledFailure(activity) } }
  return { resolveActivity: { seq: seq ?? 0, result, ...(activity.isLocal ? { isLocal: true } : {}) } }
}

/** All but WAIT_CANCELLATION_COMPLETED are reported as cancelled at once; so is an activity that this very task has scheduled. */
export function cancelledAtOnce(run: Run, task: OpenTask, seq: number | null | undefined): readonly Job[] {
  const known = task.activations.flatMap(({ jobs }) => jobs)
  if (known.some(({ resolveActivity: one }) => one != null && one.seq === seq && one.isLocal !== true)) return []
  const scheduled = task.activations
    .flatMap(({ commands }) => commands)
    .find(({ scheduleActivity }) => scheduleActivity?.seq === seq)?.scheduleActivity
  if (scheduled != null) return [cancelledJob(newActivity(scheduled, false, 0))]
  const activity = run.activities.get(seq ?? 0)
  if (activity === undefined || waitsForCancellation(activity)) return []
  return [cancelledJob(activity)]
}

/** Whether a request to cancel an activity reaches the server: an abandoned one goes on unasked. */
export const reachesServer = ({ command }: PendingActivity) =>
  command.cancellationType !== ActivityCancellationType.ABANDON

/** Names of the search attributes that a command gives a run. */
export function attributesIn({
  upsertWorkflowSearchAttributes,
  startChildWorkflowExecution,
}: Command): readonly string[] {
  const { searchAttributes } = upsertWorkflowSearchAttributes ?? startChildWorkflowExecution ?? {}
  return Object.keys(searchAttributes?.indexedFields ?? {}).filter((name) => name !== 'TemporalChangeVersion')
}

/** Why a workflow task failed, by the names that lists have for it. */
export const taskFailedCauses = {
  BadSearchAttributes: WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES,
  WorkflowWorkerUnhandledFailure: WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
  UnhandledCommand: WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
}
