import { defaultPayloadConverter } from '@temporalio/common'
import { msNumberToTs, optionalTsToMs } from '@temporalio/common/lib/time.js'
import type { coresdk, google, temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'

/** What Core says to a workflow, and what the workflow answers: one field of each is set. */
export type Job = coresdk.workflow_activation.IWorkflowActivationJob
export type Command = coresdk.workflow_commands.IWorkflowCommand
export type Payload = temporal.api.common.v1.IPayload
export type Failure = temporal.api.failure.v1.IFailure
export type ScheduledActivity = coresdk.workflow_commands.IScheduleActivity &
  Pick<coresdk.workflow_commands.IScheduleLocalActivity, 'attempt'>

export type CommandKind = Exclude<keyof Command, 'userMetadata' | 'eventGroupMarkers' | 'variant' | '$unknowns'>
type JobKind = Exclude<keyof Job, 'variant' | '$unknowns'>

/** The field of a message that is set, apart from those that every message of its type may have. */
function setField(message: object, besides: readonly string[] = []): string {
  const found = Object.entries(message).find(
    ([key, value]) => value !== null && value !== undefined && !besides.includes(key),
  )
  if (found === undefined) throw new Error(`no field is set in ${JSON.stringify(message)}`)
  return found[0]
}

export const jobKind = (job: Job): JobKind => setField(job, ['variant']) as JobKind
export const commandKind = (command: Command): CommandKind =>
  setField(command, ['userMetadata', 'eventGroupMarkers', 'variant']) as CommandKind

/** Milliseconds of a duration or time; undefined where it is unset or zero, which mean the same in commands. */
export const msOf = (duration: google.protobuf.IDuration | null | undefined): number | undefined =>
  optionalTsToMs(duration) || undefined

export const timestamp = msNumberToTs

const { TASK_QUEUE_KIND_NORMAL } = proto.temporal.api.enums.v1.TaskQueueKind
export const normalQueue = (name: string) => ({ name, kind: TASK_QUEUE_KIND_NORMAL })

export const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value) ?? {}
export const payloadsOf = (values: readonly unknown[]): Payload[] => values.map(payloadOf)
export const valueOf = (payload: Payload | null | undefined): unknown =>
  payload === null || payload === undefined ? undefined : defaultPayloadConverter.fromPayload(payload)

/** The place of a job in an activation, as Core orders them: updates are messages that come with a task, after its events but before outcomes. */
const places: Partial<Record<JobKind, number>> = {
  initializeWorkflow: 0,
  notifyHasPatch: 1,
  updateRandomSeed: 2,
  signalWorkflow: 3,
  doUpdate: 4,
}
const placeOf = (job: Job) => places[jobKind(job)] ?? (job.resolveActivity?.isLocal === true ? 6 : 5)

export const inCoresOrder = (jobs: readonly Job[]): Job[] =>
  jobs.toSorted((one, other) => placeOf(one) - placeOf(other))

/** What of a command Core compares with the history in a replay, as text. */
export function shapeOf(command: Command): string {
  const kind = commandKind(command)
  const { scheduleActivity, scheduleLocalActivity, startChildWorkflowExecution, setPatchMarker, updateResponse } =
    command
  const activity = scheduleActivity ?? scheduleLocalActivity
  if (activity != null) return `${kind} ${activity.seq} ${activity.activityId} ${activity.activityType}`
  if (startChildWorkflowExecution != null) {
    const { seq, workflowId, workflowType } = startChildWorkflowExecution
    return `${kind} ${seq} ${workflowId} ${workflowType}`
  }
  if (setPatchMarker != null) return `${kind} ${setPatchMarker.patchId}`
  if (updateResponse != null)
    return `${kind} ${updateResponse.protocolInstanceId} ${setField(updateResponse, ['protocolInstanceId', 'response'])}`
  const { seq } = (command[kind] ?? {}) as { readonly seq?: number }
  return seq === undefined ? kind : `${kind} ${seq}`
}

/** A search attribute of type Keyword. */
export function keyword(value: string): Payload {
  const payload = payloadOf(value)
  return { ...payload, metadata: { ...payload.metadata, type: new TextEncoder().encode('Keyword') } }
}
