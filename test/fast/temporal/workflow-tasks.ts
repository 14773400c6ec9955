import proto from '@temporalio/proto'
import type { Clock } from '../virtual-clock.ts'
import { newActivity, waitsForCancellation } from './activity-attempts.ts'
import { cancelledLocalActivityMarker, localActivityMarker } from './activity-failures.ts'
import {
  attributesIn,
  cancelledAtOnce,
  cancelledJob,
  elided,
  endsRun,
  isTraceless,
  taskFailedCauses,
  withoutRefusedUpdates,
} from './commands/task-commands.ts'
import { type Command, inCoresOrder, type Job, normalQueue } from './protocol.ts'
import { replayInto } from './replay.ts'
import {
  endActivity,
  isPolling,
  type Offer,
  type OpenTask,
  type PastActivation,
  type PendingActivity,
  type Run,
  type Worker,
} from './run.ts'

const { TimeoutType } = proto.temporal.api.enums.v1

/** The version that a worker names in its first task, and whose private parts are in use here. */
export const sdkVersion = '1.24.0'

const taskTimeoutMs = 10_000
/** As the production worker sets `stickyQueueScheduleToStartTimeout`. */
const stickyTimeoutMs = 3000
/** How long Temporal waits before it retries a workflow task whose code failed. */
const failedTaskDelayMs = 10_000

export interface TaskOptions {
  /** Virtual time from an event to the workflow task that takes it. Events in between come together. */
  readonly taskLatencyMs?: () => number
  /** The length of a history from which on the server suggests a new run. */
  readonly suggestNewRunAt?: number
  /** Whether a run leaves its worker's cache after a task, so that the next one begins with a replay. */
  readonly isEvicted?: () => boolean
  /** Whether the namespace has a search attribute. Default: any. A task that gives a run another one fails. */
  readonly knowsAttribute?: (name: string) => boolean
}

export interface TasksServer {
  readonly clock: Clock
  whenWorker(offer: Offer): void
  startLocal(run: Run, activity: PendingActivity, worker: Worker): void
  failed(run: Run, error: Error): void
  /** The server takes a command of a committed task. */
  carryOut(
    run: Run,
    command: Command,
    ids: { readonly completedEventId: number; readonly startedEventId: number },
  ): void
}

type Resolution = NonNullable<NonNullable<Job['resolveActivity']>['result']>

/** Jobs that Core makes in the middle of a task, out of commands: a repeated task makes them again. */
export const madeByCore = new WeakSet<Job>()
/** Markers of local activities that a command cancels, recorded in its place. */
export const cancelMarkers = new WeakMap<Command, ReturnType<typeof cancelledLocalActivityMarker>>()

/** Workflow tasks of all runs: when one is due, what the workflow hears in it, what of it is committed, and what follows when it fails. */
export class WorkflowTasks {
  readonly #server: TasksServer
  readonly #options: TaskOptions
  activations = 0

  constructor(server: TasksServer, options: TaskOptions) {
    this.#server = server
    this.#options = options
  }

  /** Lets something happen to a run: at once, or after the workflow task under way. What it returns is news for the workflow. */
  deliver(run: Run, happen: () => Job | undefined): void {
    if (!run.isRunning) return
    const take = () => {
      const news = happen()
      if (news !== undefined) run.waiting.push(news)
      run.isTaskDue = true
    }
    if (run.task !== undefined) {
      run.buffered.push(take)
      return
    }
    take()
    this.#schedule(run)
  }

  #at(afterMs: number, what: () => void) {
    return this.#server.clock.at(this.#server.clock.now() + afterMs, what)
  }

  #schedule(run: Run, afterMs = this.#options.taskLatencyMs?.() ?? 0): void {
    if (run.isTaskScheduled || run.task !== undefined || !run.isRunning) return
    run.isTaskScheduled = true
    const delayMs = run.notBeforeMs - this.#server.clock.now()
    if (delayMs > 0) {
      this.#at(delayMs, () => {
        run.isTaskScheduled = false
        this.#schedule(run)
      })
      return
    }
    this.#recordScheduled(run)
    const offer = () =>
      this.#server.whenWorker({
        kind: 'workflow',
        queue: run.identity.taskQueue,
        take: (worker) => this.#start(run, isPolling(worker) ? this.#cachedBy(run, worker) : worker),
        isOver: () => !run.isRunning,
      })
    if (run.stickyWorker === undefined || isPolling(run.stickyWorker)) return void this.#at(afterMs, offer)
    // No process polls the sticky queue of a worker that is gone, or stands still: its task times out there first.
    run.stickyWorker = undefined
    this.#at(stickyTimeoutMs, () => {
      if (!run.isRunning) return
      run.history.add(this.#server.clock.now(), {
        workflowTaskTimedOutEventAttributes: {
          scheduledEventId: run.scheduledTaskEventId as never,
          timeoutType: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START,
        },
      })
      this.#recordScheduled(run)
      offer()
    })
  }

  #cachedBy({ cached }: Run, worker: Worker): Worker {
    return cached !== undefined && isPolling(cached.worker) ? cached.worker : worker
  }

  #recordScheduled(run: Run): void {
    run.scheduledTaskEventId = run.history.add(this.#server.clock.now(), {
      workflowTaskScheduledEventAttributes: {
        taskQueue: normalQueue(run.identity.taskQueue),
        startToCloseTimeout: { seconds: 10 as never },
        attempt: 1,
      },
    })
  }

  #start(run: Run, worker: Worker, localActivities: readonly PendingActivity[] = []): void {
    run.isTaskScheduled = false
    if (!run.isRunning || run.task !== undefined) return
    const continueAsNewSuggested = run.history.length + 1 >= (this.#options.suggestNewRunAt ?? 4096)
    const historySize = run.history.bytes
    const startedEventId = run.history.add(this.#server.clock.now(), {
      workflowTaskStartedEventAttributes: {
        scheduledEventId: run.scheduledTaskEventId as never,
        identity: worker.process.name,
        historySizeBytes: historySize as never,
        suggestContinueAsNew: continueAsNewSuggested,
      },
    })
    const state = { historyLength: startedEventId, historySize, continueAsNewSuggested }
    const task: OpenTask = {
      startedEventId,
      nowMs: this.#server.clock.now(),
      state,
      worker,
      activations: [],
      localActivities: new Set(localActivities),
      timers: [],
    }
    run.task = task
    run.isTaskDue = false
    task.timers.push(this.#at(taskTimeoutMs, () => this.#fail(run, task, 'timedOut')))
    task.timers.push(this.#at(0.8 * taskTimeoutMs, () => this.#heartbeat(run, task)))
    // A frozen worker has taken the task, which times out if it does not thaw before.
    worker.process.deliver(() => this.#begin(run, task))
  }

  #begin(run: Run, task: OpenTask): void {
    if (run.task !== task) return
    const jobs = run.waiting
    run.waiting = []
    if (jobs.length > 0) this.#run(run, task, jobs)
    // Nothing that is news, such as the end of an activity that the workflow gave up: Core answers by itself.
    else if (task.localActivities.size === 0) this.#commit(run, task)
  }

  #run(run: Run, task: OpenTask, jobs: readonly Job[]): void {
    try {
      if (run.cached?.worker !== task.worker) this.#revive(run, task.worker)
      this.#activate(run, task, { jobs, markers: [] })
    } catch (error) {
      this.#server.failed(run, error as Error)
      if (task.activations.length === 0) run.waiting = [...jobs, ...run.waiting]
      this.#fail(run, task)
    }
  }

  #revive(run: Run, worker: Worker): void {
    run.evict()
    const workflow = worker.host.begin(run.identity, run.past[0]?.nowMs ?? this.#server.clock.now())
    workflow.onBroken((error) => this.#server.failed(run, error))
    replayInto(workflow, run)
    run.cached = { worker, workflow }
  }

  /** The workflow of a run for a query, which a worker replays if it must; undefined when no worker serves it. */
  workflowFor(run: Run, worker: Worker) {
    if (run.cached === undefined || !isPolling(run.cached.worker)) this.#revive(run, worker)
    return run.cached?.workflow
  }

  /** The worker is gone or its code failed: whatever the task did since its start did not happen. */
  #fail(run: Run, task: OpenTask, how: 'timedOut' | 'failed' | 'badAttributes' = 'failed'): void {
    if (run.task !== task) return
    this.#close(run, task)
    for (const activity of task.localActivities) endActivity(activity)
    const ids = {
      scheduledEventId: run.scheduledTaskEventId as never,
      startedEventId: task.startedEventId as never,
    }
    const hasError = run.taskErrors.length > 0 || how === 'badAttributes'
    const cause =
      how === 'badAttributes' ? 'BadSearchAttributes' : hasError ? 'WorkflowWorkerUnhandledFailure' : 'UnhandledCommand'
    if (how !== 'timedOut') run.failedTasks.push(cause)
    run.history.add(
      this.#server.clock.now(),
      how === 'timedOut'
        ? { workflowTaskTimedOutEventAttributes: { ...ids, timeoutType: TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE } }
        : {
            workflowTaskFailedEventAttributes: {
              ...ids,
              identity: task.worker.process.name,
              cause: taskFailedCauses[cause],
            },
          },
    )
    const again = task.activations
      .flatMap(({ jobs }) => jobs)
      .filter((job) => job.resolveActivity?.isLocal !== true && !madeByCore.has(job))
    run.waiting = inCoresOrder([...again, ...run.waiting])
    run.evict()
    this.#takeBuffered(run)
    this.#schedule(run, hasError ? failedTaskDelayMs : 0)
  }

  #close(run: Run, task: OpenTask): void {
    for (const stop of task.timers) stop()
    run.task = undefined
  }

  #takeBuffered(run: Run): void {
    for (const take of run.buffered.splice(0)) take()
  }

  /** A run was ended from outside in the middle of a task. */
  abandon(run: Run): void {
    const { task } = run
    if (task === undefined) return
    this.#close(run, task)
    for (const activity of task.localActivities) endActivity(activity)
  }

  #activate(run: Run, task: OpenTask, { jobs, markers }: Pick<PastActivation, 'jobs' | 'markers'>): void {
    const { workflow } = run.cached ?? {}
    if (workflow === undefined) throw new Error(`${run.workflowId} has no workflow in a worker`)
    if (markers.length > 0) task.nowMs = this.#server.clock.now()
    const state = { nowMs: task.nowMs, ...task.state }
    const ordered = inCoresOrder(jobs)
    this.activations += 1
    const flags = task.activations.flatMap(({ usedFlags }) => usedFlags)
    const done = workflow.activate({ ...state, isReplaying: false, flags, jobs: ordered })
    task.activations.push({ ...state, ...done, jobs: ordered, markers })
    const made = done.commands.flatMap((command) => this.#inTask(run, task, command))
    if (made.length > 0) return this.#activate(run, task, { jobs: made, markers: [] })
    if (task.localActivities.size === 0) this.#commit(run, task)
  }

  /** What Core does with a command before the task ends. Returns the jobs that it makes of it. */
  #inTask(run: Run, task: OpenTask, command: Command): readonly Job[] {
    const { scheduleLocalActivity, requestCancelLocalActivity, requestCancelActivity } = command
    if (scheduleLocalActivity != null) {
      const activity = newActivity(scheduleLocalActivity, true, this.#server.clock.now())
      task.localActivities.add(activity)
      this.#server.startLocal(run, activity, task.worker)
    }
    const made = [
      ...(requestCancelLocalActivity == null ? [] : this.#cancelLocal(task, command, requestCancelLocalActivity.seq)),
      ...(requestCancelActivity == null ? [] : cancelledAtOnce(run, task, requestCancelActivity.seq)),
    ]
    for (const job of made) madeByCore.add(job)
    return made
  }

  #cancelLocal(task: OpenTask, command: Command, seq: number | null | undefined): readonly Job[] {
    const activity = [...task.localActivities].find((one) => one.command.seq === seq)
    if (activity === undefined) return []
    activity.isCancelRequested = true
    activity.running?.cancel()
    if (waitsForCancellation(activity)) return []
    cancelMarkers.set(command, cancelledLocalActivityMarker(activity))
    endActivity(activity)
    task.localActivities.delete(activity)
    return [cancelledJob(activity)]
  }

  /** The outcome of a local activity: an activation of its own in the task that waits for it. */
  resolveLocal(run: Run, activity: PendingActivity, result: Resolution): void {
    const { task } = run
    if (task === undefined || !isPolling(task.worker) || !task.localActivities.delete(activity)) return
    const atMs = this.#server.clock.now()
    const failure = result.failed?.failure ?? result.cancelled?.failure
    const marker =
      failure == null
        ? localActivityMarker(activity, { result: result.completed?.result ?? undefined, atMs })
        : localActivityMarker(activity, { failure, atMs })
    const job: Job = { resolveActivity: { seq: activity.command.seq ?? 0, isLocal: true, result } }
    try {
      this.#activate(run, task, { jobs: [job], markers: [marker] })
    } catch (error) {
      this.#server.failed(run, error as Error)
      this.#fail(run, task)
    }
  }

  /** A task that waits for local activities is committed before its time is over, and another one goes on with them. */
  #heartbeat(run: Run, task: OpenTask): void {
    if (run.task !== task || task.localActivities.size === 0 || !isPolling(task.worker)) return
    const localActivities = [...task.localActivities]
    this.#commit(run, task, true)
    if (!run.isRunning) return
    this.#recordScheduled(run)
    this.#start(run, task.worker, localActivities)
  }

  /** The server takes the task's commands. */
  #commit(run: Run, task: OpenTask, goesOn = false): void {
    const commands = task.activations.flatMap((activation) => activation.commands)
    // The server refuses to end a run that has events which the workflow has not seen.
    if (commands.some(endsRun) && run.buffered.length > 0) return this.#fail(run, task)
    const { knowsAttribute = () => true } = this.#options
    if (!commands.flatMap(attributesIn).every(knowsAttribute)) return this.#fail(run, task, 'badAttributes')
    this.#close(run, task)
    run.failedTasks = []
    run.committedTasks += 1
    run.stickyWorker = task.worker
    const kept = task.activations.map(withoutRefusedUpdates).filter(({ jobs }) => jobs.length > 0)
    run.past.push(...kept)
    const ids = { completedEventId: 0, startedEventId: task.startedEventId }
    const isTrace = run.history.length !== task.startedEventId || run.scheduledTaskEventId !== task.startedEventId - 1
    if (kept.length === 0 && !isTrace && isTraceless(task.activations)) {
      run.history.takeBack(2)
      run.committedTasks -= 1
      for (const command of commands) this.#server.carryOut(run, command, ids)
    } else {
      ids.completedEventId = this.#recordCompleted(run, task)
      this.#carryOut(run, task, ids)
    }
    if (!run.isRunning || (!goesOn && this.#options.isEvicted?.() === true)) run.evict()
    if (!run.isRunning) return
    this.#takeBuffered(run)
    if (run.isTaskDue && !goesOn) this.#schedule(run)
  }

  #recordCompleted(run: Run, task: OpenTask): number {
    const langUsedFlags = [...new Set(task.activations.flatMap(({ usedFlags }) => usedFlags))].filter(
      (flag) => !run.flags.has(flag),
    )
    for (const flag of langUsedFlags) run.flags.add(flag)
    const sdk = { coreUsedFlags: [3, 2, 1], sdkName: 'temporal-typescript', sdkVersion }
    run.history.bytes += task.activations.reduce((sum, { bytes }) => sum + bytes.length + 300, 0)
    return run.history.add(this.#server.clock.now(), {
      workflowTaskCompletedEventAttributes: {
        scheduledEventId: run.scheduledTaskEventId as never,
        startedEventId: task.startedEventId as never,
        identity: task.worker.process.name,
        sdkMetadata: { ...(run.committedTasks === 1 ? sdk : {}), langUsedFlags },
      },
    })
  }

  #carryOut(
    run: Run,
    task: OpenTask,
    ids: { readonly completedEventId: number; readonly startedEventId: number },
  ): void {
    const isElided = elided(task.activations.flatMap(({ commands }) => commands))
    for (const { markers, commands } of task.activations) {
      for (const marker of markers)
        run.history.add(this.#server.clock.now(), {
          markerRecordedEventAttributes: { ...marker, workflowTaskCompletedEventId: ids.completedEventId as never },
        })
      for (const command of commands) if (!isElided(command)) this.#server.carryOut(run, command, ids)
    }
  }
}
