import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import proto from '@temporalio/proto'
import { Worker } from '@temporalio/worker'
import { buildWorkflowBundle } from '../../workers/bundle.ts'
import { quietRuntime } from '../runner/quiet-runtime.ts'

const { TimeoutType, WorkflowTaskFailedCause } = proto.temporal.api.enums.v1

/** Counts what histories say of workflow tasks that failed, by cause, or that nobody finished in time. A reset is written down as one, too. */
export function failedTasks(histories: readonly string[]): Readonly<Record<string, number>> {
  const causes: Record<string, number> = {}
  for (const text of histories) {
    const events = historyFromJSON(JSON.parse(text)).events ?? []
    for (const { workflowTaskFailedEventAttributes: failed, workflowTaskTimedOutEventAttributes: late } of events) {
      if (late != null) {
        const type = TimeoutType[late.timeoutType ?? 0] ?? 'unknown'
        causes[type] = (causes[type] ?? 0) + 1
      }
      if (failed == null) continue
      const cause = WorkflowTaskFailedCause[failed.cause ?? 0] ?? 'unknown'
      if (cause !== 'WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW') causes[cause] = (causes[cause] ?? 0) + 1
    }
  }
  return causes
}

/** What replay with today's code objects to. */
export async function objections(histories: ReadonlyMap<string, string>): Promise<readonly string[]> {
  quietRuntime()
  const inputs = [...histories].map(([workflowId, text]) => ({
    workflowId,
    history: historyFromJSON(JSON.parse(text)),
  }))
  const found: string[] = []
  const code = await buildWorkflowBundle()
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle: { code } }, inputs))
    if (error !== undefined) found.push(`${workflowId}: ${error.message}`)
  return found
}
