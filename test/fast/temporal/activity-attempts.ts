import type { temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'
import {
  type ActivityTimeout,
  activityFailure,
  cancelledFailure,
  type NoRetry,
  timeIsOver,
  timeoutFailure,
} from './activity-failures.ts'
import type { Attributes } from './history.ts'
import { type Failure, type Job, msOf, type ScheduledActivity, valueOf } from './protocol.ts'
import { type AttemptResult, endActivity, type Offer, type PendingActivity, type Run, type Worker } from './run.ts'
import type { ServerClock } from './server-clock.ts'

const { WAIT_CANCELLATION_COMPLETED } = proto.coresdk.workflow_commands.ActivityCancellationType
type Resolution = NonNullable<NonNullable<Job['resolveActivity']>['result']>

export interface AttemptsServer {
  readonly clock: ServerClock
  /** Lets something happen to a run; what it returns is news for the workflow. */
  deliver(run: Run, happen: () => Job | undefined): void
  whenWorker(offer: Offer): void
  /** A worker may take another activity. */
  slotIsFree(): void
  /** The outcome of a local activity, which its workflow task waits for. */
  resolveLocal(run: Run, activity: PendingActivity, result: Resolution): void
}

/** Whether a cancelled activity's outcome is news: the others were reported as cancelled when the workflow asked. */
export const waitsForCancellation = ({ command }: PendingActivity) =>
  (command.cancellationType ?? 0) === WAIT_CANCELLATION_COMPLETED

export function newActivity(command: ScheduledActivity, isLocal: boolean, nowMs: number): PendingActivity {
  return {
    command,
    isLocal,
    scheduledMs: nowMs,
    attemptScheduledMs: nowMs,
    scheduledEventId: 0,
    cancelRequestedEventId: 0,
    attempt: command.attempt || 1,
    isCancelRequested: false,
    isOver: false,
    isWaiting: true,
    nextAttemptMs: undefined,
    lastFailure: undefined,
    heartbeatDetails: undefined,
    lastWorker: undefined,
    running: undefined,
    timers: new Map(),
  }
}

/** Activities between their commands and their outcomes: queues, retries, time limits, heartbeats and cancellation, as Temporal has them. */
export class ActivityAttempts {
  readonly #server: AttemptsServer
  /** Attempts under way. One that the server has given up keeps its slot until it ends. */
  readonly #taken = new Map<Worker, number>()

  constructor(server: AttemptsServer) {
    this.#server = server
  }

  schedule(run: Run, command: ScheduledActivity, scheduledEventId: number): void {
    const activity = newActivity(command, false, this.#server.clock.now())
    activity.scheduledEventId = scheduledEventId
    run.activities.set(command.seq ?? 0, activity)
    const limit = msOf(command.scheduleToCloseTimeout)
    if (limit !== undefined) this.#limit(run, activity, { timeout: 'scheduleToClose', ms: limit })
    this.#dispatch(run, activity)
  }

  /** Runs a local activity in the worker of its workflow task. */
  startLocal(run: Run, activity: PendingActivity, worker: Worker): void {
    this.#attempt(run, activity, worker)
  }

  /** The server has recorded the request. An attempt under way hears of it with its next heartbeat; between attempts the activity ends at once. */
  cancel(run: Run, activity: PendingActivity): void {
    activity.isCancelRequested = true
    if (!activity.isOver && activity.running === undefined)
      this.#resolve(run, activity, { cancelled: { failure: cancelledFailure(activity) } })
  }

  /** Somebody other than its worker says how an attempt ended. Returns whether there is one. */
  endFromOutside(run: Run, activityId: string, result: AttemptResult): boolean {
    const activity = [...run.activities.values()].find(({ command }) => command.activityId === activityId)
    if (activity === undefined || activity.isOver || activity.isWaiting) return false
    this.#ended(run, activity, result)
    return true
  }

  #dispatch(run: Run, activity: PendingActivity): void {
    activity.attemptScheduledMs = this.#server.clock.now()
    const limit = msOf(activity.command.scheduleToStartTimeout)
    if (limit !== undefined) this.#limit(run, activity, { timeout: 'scheduleToStart', ms: limit })
    this.#server.whenWorker({
      kind: 'activity',
      queue: activity.command.taskQueue ?? '',
      take: (worker) => this.#attempt(run, activity, worker),
      isOver: () => activity.isOver,
      hasRoom: (worker) => (this.#taken.get(worker) ?? 0) < (worker.activitySlots ?? Number.POSITIVE_INFINITY),
    })
  }

  #take(worker: Worker, slots: 1 | -1): void {
    this.#taken.set(worker, (this.#taken.get(worker) ?? 0) + slots)
    if (slots < 0 && worker.activitySlots !== undefined) this.#server.slotIsFree()
  }

  #timer(activity: PendingActivity, name: string, timer: { readonly ms: number; readonly due: () => void }): void {
    const { clock } = this.#server
    activity.timers.get(name)?.()
    const stop = clock.at(clock.now() + timer.ms, () => {
      // What was due while the server was away is due at its return: a heartbeat that came first has set another one.
      if (activity.timers.get(name) !== stop) return
      activity.timers.delete(name)
      timer.due()
    })
    activity.timers.set(name, stop)
  }

  #limit(run: Run, activity: PendingActivity, limit: { readonly timeout: ActivityTimeout; readonly ms: number }): void {
    this.#timer(activity, limit.timeout, {
      ms: limit.ms,
      due: () => {
        if (activity.isOver) return
        activity.running = undefined
        if (limit.timeout === 'startToClose' || limit.timeout === 'heartbeat')
          return this.#failed(run, activity, timeoutFailure(limit.timeout))
        const failure =
          limit.timeout === 'scheduleToStart' ? timeoutFailure(limit.timeout) : timeIsOver(activity.lastFailure)
        this.#resolve(run, activity, failedAs(activity, failure, 'tooLate'))
      },
    })
  }

  #attempt(run: Run, activity: PendingActivity, worker: Worker): void {
    const { command } = activity
    const heartbeatTimeoutMs = msOf(command.heartbeatTimeout)
    const startToClose = msOf(command.startToCloseTimeout)
    const running = { worker, cancel: () => started.cancel() }
    activity.running = running
    activity.lastWorker = worker.identity
    activity.isWaiting = false
    activity.nextAttemptMs = undefined
    activity.timers.get('scheduleToStart')?.()
    this.#take(worker, 1)
    if (startToClose !== undefined) this.#limit(run, activity, { timeout: 'startToClose', ms: startToClose })
    if (heartbeatTimeoutMs !== undefined) this.#limit(run, activity, { timeout: 'heartbeat', ms: heartbeatTimeoutMs })
    const heartbeats = this.#heartbeats(run, activity, running)
    const started = worker.runAttempt({
      run,
      activity,
      args: (command.arguments ?? []).map(valueOf),
      heartbeatTimeoutMs,
      startedMs: this.#server.clock.now(),
      heartbeat: heartbeats.beat,
    })
    void started.ended.then((result) => {
      heartbeats.end('failed' in result)
      this.#take(worker, -1)
      const report = () => {
        if (!worker.process.isKilled && activity.running === running && !activity.isOver)
          this.#ended(run, activity, result)
      }
      this.#server.clock.whenThere(() => worker.process.whenReached('temporal', report))
    })
  }

  /** Heartbeats of an attempt, throttled as the SDK does. The server's answer to one says whether the activity is to be cancelled. */
  #heartbeats(run: Run, activity: PendingActivity, running: NonNullable<PendingActivity['running']>) {
    const { clock } = this.#server
    const timeoutMs = msOf(activity.command.heartbeatTimeout)
    const throttleMs = Math.min(0.8 * (timeoutMs ?? 37_500), 60_000)
    let sentMs = Number.NEGATIVE_INFINITY
    let held: (() => void) | undefined
    let latest: unknown
    let isOver = false
    const send = () => {
      held = undefined
      const { process } = running.worker
      if (isOver || process.isKilled || process.isCutFrom('temporal') || clock.isAway) return
      sentMs = clock.now()
      // An attempt that the server gave up is unknown to it.
      if (activity.running !== running || !run.isRunning) return running.cancel()
      activity.heartbeatDetails = latest
      run.heartbeats += 1
      if (timeoutMs !== undefined) this.#limit(run, activity, { timeout: 'heartbeat', ms: timeoutMs })
      if (activity.isCancelRequested) running.cancel()
    }
    return {
      beat: (details?: unknown) => {
        latest = details
        const nextMs = sentMs + throttleMs
        const deliver = () => running.worker.process.deliver(send)
        if (nextMs <= clock.now()) deliver()
        else held ??= clock.at(nextMs, deliver)
      },
      /** What a failed attempt has said last is sent with its failure. */
      end: (hasFailed: boolean) => {
        isOver = true
        if (held === undefined) return
        held()
        if (hasFailed && activity.running === running) activity.heartbeatDetails = latest
      },
    }
  }

  #ended(run: Run, activity: PendingActivity, result: AttemptResult): void {
    if ('failed' in result && result.failed != null) return this.#failed(run, activity, result.failed.failure)
    if ('cancelled' in result && result.cancelled != null)
      return this.#resolve(run, activity, {
        cancelled: { failure: cancelledFailure(activity, result.cancelled.failure) },
      })
    this.#resolve(run, activity, result)
  }

  #failed(run: Run, activity: PendingActivity, failure: Failure): void {
    activity.running = undefined
    for (const timeout of ['startToClose', 'heartbeat']) activity.timers.get(timeout)?.()
    const delayMs = retryDelay(activity, failure)
    const noRetry = whyNoRetry(activity, failure, this.#server.clock.now() + delayMs)
    // A failure that was reported stays as it is; a time limit that leaves no time for another attempt is that of the whole activity.
    const isLate = noRetry === 'tooLate' && failure.timeoutFailureInfo != null
    if (noRetry !== undefined)
      return this.#resolve(
        run,
        activity,
        failedAs(activity, isLate ? timeIsOver(activity.lastFailure) : failure, noRetry),
      )
    activity.lastFailure = failure
    activity.attempt += 1
    activity.isWaiting = true
    activity.nextAttemptMs = this.#server.clock.now() + delayMs
    this.#timer(activity, 'retry', {
      ms: delayMs,
      due: () => {
        if (!activity.isLocal) return this.#dispatch(run, activity)
        const worker = run.task?.worker
        if (worker !== undefined && !worker.process.isKilled) this.#attempt(run, activity, worker)
      },
    })
  }

  #resolve(run: Run, activity: PendingActivity, result: Resolution): void {
    endActivity(activity)
    if (activity.isLocal) return this.#server.resolveLocal(run, activity, result)
    const { seq } = activity.command
    // Before the first attempt, and between two, none has started that the history would name.
    const hasStarted = !activity.isWaiting
    this.#server.deliver(run, () => {
      const { clock } = this.#server
      const scheduledEventId = activity.scheduledEventId as never
      const startedEventId = hasStarted ? recordStart(run, activity, clock.now()) : 0
      run.history.add(
        clock.now(),
        endOf(activity, result, { scheduledEventId, startedEventId: startedEventId as never }),
      )
      run.activities.delete(seq ?? 0)
      const isNews = !activity.isCancelRequested || waitsForCancellation(activity)
      return isNews ? { resolveActivity: { seq: seq ?? 0, result } } : undefined
    })
  }
}

/** What a workflow gets of an activity that failed. Of a local one it gets an error as it is. */
function failedAs(activity: PendingActivity, cause: Failure, noRetry: NoRetry): Resolution {
  const isBare = activity.isLocal && cause.timeoutFailureInfo == null
  return { failed: { failure: isBare ? cause : activityFailure(activity, cause, noRetry) } }
}

/** The server writes the start of the last attempt together with its end. */
function recordStart(run: Run, { scheduledEventId, attempt, lastFailure }: PendingActivity, nowMs: number): number {
  return run.history.add(nowMs, {
    activityTaskStartedEventAttributes: {
      scheduledEventId: scheduledEventId as never,
      identity: 'worker',
      attempt,
      ...(lastFailure === undefined ? {} : { lastFailure }),
    },
  })
}

function retryDelay({ command, attempt }: PendingActivity, failure: Failure): number {
  const asked = msOf(failure.applicationFailureInfo?.nextRetryDelay)
  if (asked !== undefined) return asked
  const { initialInterval, backoffCoefficient, maximumInterval } = command.retryPolicy ?? {}
  const initialMs = msOf(initialInterval) ?? 1000
  return Math.min(initialMs * (backoffCoefficient || 2) ** (attempt - 1), msOf(maximumInterval) ?? 100 * initialMs)
}

function whyNoRetry(activity: PendingActivity, failure: Failure, nextMs: number): NoRetry | undefined {
  const { command, attempt, scheduledMs, isCancelRequested } = activity
  const { nonRetryableErrorTypes, maximumAttempts } = command.retryPolicy ?? {}
  const { nonRetryable, type } = failure.applicationFailureInfo ?? {}
  if (nonRetryable === true || (type && nonRetryableErrorTypes?.includes(type))) return 'nonRetryable'
  const limitMs = msOf(command.scheduleToCloseTimeout)
  if (limitMs !== undefined && nextMs >= scheduledMs + limitMs) return 'tooLate'
  if (maximumAttempts && attempt >= maximumAttempts) return 'noAttemptsLeft'
  return isCancelRequested ? 'cancelRequested' : undefined
}

type AttemptIds = Pick<
  temporal.api.history.v1.IActivityTaskCompletedEventAttributes,
  'scheduledEventId' | 'startedEventId'
>

function endOf(activity: PendingActivity, { completed, cancelled, failed }: Resolution, ids: AttemptIds): Attributes {
  const by = { ...ids, identity: 'worker' }
  if (completed != null) {
    const result = completed.result == null ? {} : { result: { payloads: [completed.result] } }
    return { activityTaskCompletedEventAttributes: { ...by, ...result } }
  }
  if (cancelled != null) {
    const latestCancelRequestedEventId = activity.cancelRequestedEventId as never
    return { activityTaskCanceledEventAttributes: { ...by, latestCancelRequestedEventId } }
  }
  const { cause, activityFailureInfo } = failed?.failure ?? {}
  const outcome = { failure: cause ?? {}, retryState: activityFailureInfo?.retryState ?? 0 }
  return cause?.timeoutFailureInfo == null
    ? { activityTaskFailedEventAttributes: { ...by, ...outcome } }
    : { activityTaskTimedOutEventAttributes: { ...ids, ...outcome } }
}
