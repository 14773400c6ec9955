import { type Client, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client'
import { maintenanceScheduleId } from '../../../core/task-queues.ts'
import { timeText } from '../../../core/values/time.ts'
import type { Finding, LookContext } from './finding.ts'

/** What its jitter, a busy server and a long run may add to the two intervals after which a Schedule is late. */
const slackMs = 120_000

/** Returns a Schedule; undefined where there is none. Errors: what else Temporal says. */
export async function describedSchedule(client: Client, id: string): Promise<ScheduleDescription | undefined> {
  try {
    return await client.schedule.getHandle(id).describe()
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined
    throw error
  }
}

/** Whether the Schedule is there, is not paused, and has started its workflow lately. */
export async function lookAtSchedule({ client, cluster, now }: LookContext): Promise<readonly Finding[]> {
  const id = maintenanceScheduleId(cluster)
  const where = `--schedule-id ${id} --namespace ${client.options.namespace}`
  const found = await describedSchedule(client, id)
  const finding = found === undefined ? missing : (brake(found, where) ?? lateness(found, now(), where))
  return finding === undefined ? [] : [{ object: `Schedule ${id}`, ...finding }]
}

type Wrong = Omit<Finding, 'object'>

const missing: Wrong = {
  fault: 'schedule missing',
  remedy: 'a process with the role bridge makes it: kubectl get pods --namespace joiner',
  repair: { kind: 'bootstrap' },
}

/** Somebody wanted it so: nobody but a person resumes it. */
function brake({ state: { paused, note } }: ScheduleDescription, where: string): Wrong | undefined {
  if (!paused) return undefined
  const remedy = `once the reason is gone: temporal schedule toggle --unpause ${where} --reason REASON`
  return { fault: 'schedule paused', detail: note === undefined || note === '' ? 'without a note' : note, remedy }
}

/** The interval is the Schedule's own: an operator may have changed it. */
function lateness({ spec, info }: ScheduleDescription, now: number, where: string): Wrong | undefined {
  const everyMs = spec.intervals?.[0]?.every
  const last = info.recentActions.at(-1)
  const lastMs = Math.max(info.createdAt.getTime(), last?.takenAt.getTime() ?? 0, info.lastUpdatedAt?.getTime() ?? 0)
  if (everyMs === undefined || now - lastMs <= 2 * everyMs + slackMs) return undefined
  const fault = 'schedule late'
  const detail = `no run since ${timeText(lastMs)}, every ${everyMs / 60_000} min are due`
  const [running] = info.runningActions
  if (running?.type !== 'startWorkflow') return { fault, detail, remedy: `temporal schedule trigger ${where}` }
  const { workflowId } = running.workflow
  return {
    fault,
    detail: `${detail}; ${workflowId} has not ended, and no other starts beside it`,
    remedy: `see why it does not end: temporal workflow describe --workflow-id ${workflowId}`,
  }
}
