import proto from '@temporalio/proto'
import type { HistoryEvent } from './history.ts'
import { Run } from './run.ts'
import { startedMemo } from './run-start.ts'
import { madeByCore } from './workflow-tasks.ts'

const { WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW } = proto.temporal.api.enums.v1.WorkflowTaskFailedCause

/**
 * A run that begins where an earlier one was when it started a workflow task. Errors: an activity or timer was begun before; that is not simulated.
 */
export function resetCopy(run: Run, runId: string, completedEventId: number): Run {
  const { events } = run.history
  const startedEventId = Number(events[completedEventId - 1]?.workflowTaskCompletedEventAttributes?.startedEventId ?? 0)
  if (startedEventId === 0) throw new Error(`event ${completedEventId} is not the end of a workflow task`)
  const copied = events.slice(0, startedEventId)
  if (copied.some(isBegun)) throw new Error('a reset with activities or timers under way is not simulated')
  const { searchAttributes, startedMs, limits } = run
  const again = new Run({ ...run.identity, runId }, { memo: startedMemo(run), searchAttributes, startedMs, limits })
  again.history.events.push(...copied)
  again.past.push(...run.past.filter(({ historyLength }) => historyLength < startedEventId))
  again.committedTasks = new Set(again.past.map(({ historyLength }) => historyLength)).size
  for (const flag of again.past.flatMap(({ usedFlags }) => usedFlags)) again.flags.add(flag)
  again.waiting = run.past
    .filter(({ historyLength }) => historyLength === startedEventId)
    .flatMap(({ jobs }) => jobs)
    // Updates that it accepted come again by their events.
    .filter((job) => job.resolveActivity?.isLocal !== true && job.doUpdate == null && !madeByCore.has(job))
  return again
}

const isBegun = ({ activityTaskScheduledEventAttributes, timerStartedEventAttributes }: HistoryEvent) =>
  activityTaskScheduledEventAttributes != null || timerStartedEventAttributes != null

/** The event that tells Core that a history was cut. */
export const resetEvent = (run: Run, base: Run, reason: string) => ({
  workflowTaskFailedEventAttributes: {
    scheduledEventId: (run.history.length - 1) as never,
    startedEventId: run.history.length as never,
    cause: WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
    failure: { message: reason },
    baseRunId: base.identity.runId,
    newRunId: run.identity.runId,
    identity: 'client',
  },
})
