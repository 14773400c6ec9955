import { defaultDataConverter, noopMetricMeter } from '@temporalio/common'
import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import { Activity, type CancelReason } from '@temporalio/worker/lib/activity.js'
import type { SimulatedProcess } from '../simulated-process.ts'
import { msOf } from './protocol.ts'
import type { Attempt, AttemptResult, RunningAttempt, Worker } from './run.ts'
import { namespace, type WorkflowHost } from './workflow-host.ts'

export type ActivityFunctions = Readonly<Record<string, (...args: never[]) => unknown>>

const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} }

export interface WorkerOptions {
  readonly process: SimulatedProcess
  /** Default: the name of its process. */
  readonly identity?: string
  readonly host: WorkflowHost
  readonly queues: Iterable<string>
  readonly activities: ActivityFunctions
  readonly interceptors?: readonly ActivityInterceptorsFactory[]
}

/** The worker of a process. Its attempts run as the SDK's own run: the same context, failures and cancellation. */
export function simulatedWorker({ process, identity = process.name, host, queues, ...offered }: WorkerOptions): Worker {
  return {
    process,
    identity,
    host,
    queues: new Set(queues),
    runAttempt: (attempt) => runAttempt(process, attempt, offered),
  }
}

type Offered = Pick<WorkerOptions, 'activities' | 'interceptors'>

function runAttempt(process: SimulatedProcess, attempt: Attempt, offered: Offered): RunningAttempt {
  const { promise, resolve } = Promise.withResolvers<AttemptResult>()
  let activity: Activity | undefined
  process.deliver(() => {
    activity = newActivity(attempt, offered)
    const result = activity.run({ args: [...attempt.args], headers: {} }) as Promise<AttemptResult>
    void process.answered(result).then(resolve)
  })
  const cancelWith = (reason: CancelReason, details: object) =>
    process.deliver(() => activity?.cancel(reason, details as never))
  return {
    ended: promise,
    cancel: () => cancelWith('CANCELLED', { cancelRequested: true }),
    shutDown: () => cancelWith('WORKER_SHUTDOWN', { workerShutdown: true }),
  }
}

function newActivity(attempt: Attempt, { activities, interceptors = [] }: Offered): Activity {
  const name = attempt.activity.command.activityType ?? ''
  const known = activities[name] as ((...args: unknown[]) => Promise<unknown>) | undefined
  const missing = () => Promise.reject(new Error(`activity ${name} is not registered`))
  const [noContext, noClient] = [undefined as never, undefined]
  return new Activity(
    infoOf(attempt) as never,
    known ?? missing,
    defaultDataConverter,
    noContext,
    undefined,
    attempt.heartbeat,
    noClient,
    silent,
    noopMetricMeter,
    [...interceptors],
  )
}

function infoOf({ run, activity, heartbeatTimeoutMs, startedMs }: Attempt) {
  const { command, attempt, scheduledMs, attemptScheduledMs, heartbeatDetails, isLocal } = activity
  const taskToken = new TextEncoder().encode(`${run.identity.runId}/${command.activityId}/${attempt}`)
  return {
    taskToken,
    base64TaskToken: Buffer.from(taskToken).toString('base64'),
    activityId: command.activityId ?? '',
    activityType: command.activityType ?? '',
    attempt,
    isLocal,
    inWorkflow: true,
    workflowExecution: { workflowId: run.workflowId, runId: run.identity.runId },
    workflowType: run.identity.workflowType,
    namespace,
    activityNamespace: namespace,
    workflowNamespace: namespace,
    taskQueue: command.taskQueue ?? run.identity.taskQueue,
    heartbeatDetails,
    heartbeatTimeoutMs,
    scheduledTimestampMs: scheduledMs,
    currentAttemptScheduledTimestampMs: attemptScheduledMs,
    startedTimestampMs: startedMs,
    startToCloseTimeoutMs: msOf(command.startToCloseTimeout) ?? 0,
    scheduleToCloseTimeoutMs: msOf(command.scheduleToCloseTimeout) ?? 0,
    priority: undefined,
  }
}
