// Histories of workflows, in the few words that a failure of a test needs.
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { World } from '../world.ts'

interface Event {
  readonly eventType: string
  readonly activityTaskScheduledEventAttributes?: { readonly activityType?: { readonly name?: string } }
  readonly workflowExecutionSignaledEventAttributes?: {
    readonly signalName?: string
    readonly input?: { readonly payloads?: readonly { readonly data?: string }[] }
  }
}

/** The events of a history, which is Protobuf JSON: each its type, an activity with its name, a signal with its name and payload. */
export function shownEvents(history: string): readonly string[] {
  return (JSON.parse(history) as { readonly events: readonly Event[] }).events.map((event) => {
    const kind = event.eventType.replace('EVENT_TYPE_', '')
    const activity = event.activityTaskScheduledEventAttributes?.activityType?.name
    const signal = event.workflowExecutionSignaledEventAttributes
    if (activity !== undefined) return `${kind} ${activity}`
    if (signal === undefined) return kind
    const payloads = (signal.input?.payloads ?? []).map(({ data = '' }) => Buffer.from(data, 'base64').toString())
    return [kind, signal.signalName, ...payloads].join(' ')
  })
}

/** Whether the machine was too busy for a lifecycle: a late answer costs a task or a look more. */
export function wasLate(events: readonly string[]): boolean {
  const signs = ['WORKFLOW_TASK_TIMED_OUT', 'WORKFLOW_TASK_FAILED', 'ACTIVITY_TASK_SCHEDULED observe']
  return events.some((event) => signs.includes(event))
}

/** The events of lifecycles that run, and of the loops, by name. */
export async function eventsByRun(world: World): Promise<Readonly<Record<string, readonly string[]>>> {
  const lifecycles = await world.lifecycles("ExecutionStatus = 'Running'")
  const handles = [
    ...lifecycles.map(({ id }) => world.temporal.workflow.getHandle(id)),
    world.loop('provisioning'),
    world.loop('disruption'),
  ]
  const events = handles.map(async (handle) => [
    handle.workflowId,
    shownEvents(historyToJSON(await handle.fetchHistory())),
  ])
  return Object.fromEntries(await Promise.all(events)) as Record<string, readonly string[]>
}
