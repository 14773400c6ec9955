import type { Client } from '@temporalio/client'
import { timeText } from '../../../core/values/time.ts'

/** Returns what a lifecycle did so far, a line for each activity that ended or waits, from its history: with attempts, and why one was repeated. */
export async function lifecycleLines(client: Client, workflowId: string): Promise<readonly string[]> {
  const handle = client.workflow.getHandle(workflowId)
  const { events } = await handle.fetchHistory()
  const names = new Map<string, string>()
  const lines: string[] = []
  for (const event of events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes
    const started = event.activityTaskStartedEventAttributes
    if (scheduled) names.set(String(event.eventId), scheduled.activityType?.name ?? '')
    if (!started) continue
    const { attempt, lastFailure } = started
    const repeated =
      (attempt ?? 1) > 1 ? `, attempt ${attempt}; the one before: ${lastFailure?.message ?? 'no answer'}` : ''
    lines.push(`${timeOf(event.eventTime)}  ${names.get(String(started.scheduledEventId)) ?? ''}${repeated}`)
  }
  const { raw } = await handle.describe()
  const waiting = (raw.pendingActivities ?? []).map(({ activityType, attempt }) => {
    const again = (attempt ?? 1) > 1 ? `, attempt ${attempt}` : ''
    return `${' '.repeat(8)}  ${activityType?.name ?? ''}${again}, under way`
  })
  return [...lines, ...waiting]
}

function timeOf(time: { readonly seconds?: unknown } | null | undefined): string {
  return timeText(Number(time?.seconds ?? 0) * 1000).slice(11, 19)
}
