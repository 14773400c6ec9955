import type { WorkflowHandle } from '@temporalio/client'

/** Summaries that the timeline of a workflow's latest run shows of an activity, or of its timers, in their order. */
export async function summaries(
  handle: WorkflowHandle,
  of: { readonly activity?: string },
): Promise<readonly string[]> {
  const { events } = await handle.fetchHistory()
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled, ...event }) => {
    const isWanted =
      of.activity === undefined
        ? event.timerStartedEventAttributes != null
        : scheduled?.activityType?.name === of.activity
    const data = event.userMetadata?.summary?.data
    return isWanted ? [data ? (JSON.parse(Buffer.from(data).toString()) as string) : ''] : []
  })
}
