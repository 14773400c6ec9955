import { type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client'
import { timeText } from '../../../core/values/time.ts'
import { scheduleIds } from '../../bridge/bootstrap.ts'
import { type Finding, findingsOf, type LookContext } from './finding.ts'

/** What its jitter, a busy server and a long run may add to the two intervals after which a Schedule is late. */
const slackMs = 120_000

/** Whether each Schedule is there, is not paused, and has started its workflow lately. */
export async function lookAtSchedules(context: LookContext): Promise<readonly Finding[]> {
  const looks = scheduleIds(context.cluster).map((id) =>
    findingsOf({ what: `Schedule ${id}`, run: () => lookAt(id, context) }),
  )
  return (await Promise.all(looks)).flat()
}

async function lookAt(id: string, { client, now }: LookContext): Promise<readonly Finding[]> {
  const object = `Schedule ${id}`
  const where = `--schedule-id ${id} --namespace ${client.options.namespace}`
  let found: ScheduleDescription
  try {
    found = await client.schedule.getHandle(id).describe()
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error
    return [
      {
        object,
        fault: 'schedule missing',
        remedy: 'a process with the role bridge makes it: kubectl get pods --namespace joiner',
        repair: { kind: 'bootstrap' },
      },
    ]
  }
  const { paused, note } = found.state
  // Somebody wanted it so: nobody but a person resumes it.
  if (paused)
    return [
      {
        object,
        fault: 'schedule paused',
        detail: note === undefined || note === '' ? 'without a note' : note,
        remedy: `once the reason is gone: temporal schedule toggle --unpause ${where} --reason REASON`,
      },
    ]
  return lateness(found, now()).map(({ detail, remedy }) => ({
    object,
    fault: 'schedule late',
    detail,
    remedy: remedy ?? `temporal schedule trigger ${where}`,
  }))
}

interface Lateness {
  readonly detail: string
  readonly remedy?: string
}

/** The interval is the Schedule's own: an operator may have changed it. */
function lateness({ spec, info }: ScheduleDescription, now: number): readonly Lateness[] {
  const everyMs = spec.intervals?.[0]?.every
  if (everyMs === undefined) return []
  const last = info.recentActions.at(-1)
  const lastMs = Math.max(info.createdAt.getTime(), last?.takenAt.getTime() ?? 0, info.lastUpdatedAt?.getTime() ?? 0)
  if (now - lastMs <= 2 * everyMs + slackMs) return []
  const since = `no run since ${timeText(lastMs)}, every ${everyMs / 60_000} min are due`
  const [running] = info.runningActions
  if (running?.type !== 'startWorkflow') return [{ detail: since }]
  const { workflowId } = running.workflow
  return [
    {
      detail: `${since}; ${workflowId} has not ended, and no other starts beside it`,
      remedy: `see why it does not end: temporal workflow describe --workflow-id ${workflowId}`,
    },
  ]
}
