// Temporal's button Reset: a run begins again, and Temporal hands it all signals and updates once more.
import type { Client } from '@temporalio/client'
import type { temporal as api } from '@temporalio/proto'

/** The id of the event that ends a workflow task. */
export type Step = NonNullable<api.api.history.v1.IHistoryEvent['eventId']>

/** Resets the run of a workflow that runs, to its first task. */
export async function resetToFirstTask(temporal: Client, workflowId: string): Promise<void> {
  const { runId } = await temporal.workflow.getHandle(workflowId).describe()
  const [first] = await stepsOf(temporal, workflowId, runId)
  if (first === undefined) throw new Error(`${workflowId} has finished no workflow task`)
  await resetTo(temporal, { workflowId, runId }, first)
}

/** What a run can be reset to: the ids of the events that end its workflow tasks, in their order. */
export async function stepsOf(temporal: Client, workflowId: string, runId: string): Promise<readonly Step[]> {
  const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory()
  const ends = events?.filter((event) => event.workflowTaskCompletedEventAttributes != null) ?? []
  return ends.flatMap(({ eventId }) => eventId ?? [])
}

/** Resets a run, whether it has ended or not, to one of its steps. Returns the id of the run that begins. */
export async function resetTo(
  temporal: Client,
  run: { readonly workflowId: string; readonly runId: string },
  step: Step,
): Promise<string> {
  const { runId } = await temporal.workflowService.resetWorkflowExecution({
    namespace: temporal.options.namespace,
    workflowExecution: run,
    reason: 'somebody pressed a button',
    workflowTaskFinishEventId: step,
    requestId: crypto.randomUUID(),
  })
  return runId
}
