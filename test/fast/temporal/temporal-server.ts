import proto from '@temporalio/proto'
import type { SimulatedProcess } from '../simulated-process.ts'
import { type Clock, randomNumbers } from '../virtual-clock.ts'
import { ActivityAttempts } from './activity-attempts.ts'
import { carryOut } from './commands/commands.ts'
import type { Attributes } from './history.ts'
import type { Job, Payload } from './protocol.ts'
import { resetCopy, resetEvent } from './resets.ts'
import {
  type AttemptResult,
  endActivity,
  isPolling,
  type Offer,
  Run,
  type RunStatus,
  type UpdateOutcome,
  type Worker,
} from './run.ts'
import { randomnessOf } from './run-randomness.ts'
import { type RunStart, startOf } from './run-start.ts'
import { ServerClock } from './server-clock.ts'
import { type TaskOptions, WorkflowTasks } from './workflow-tasks.ts'

export interface TemporalOptions extends Omit<TaskOptions, 'taskLatencyMs' | 'isEvicted'> {
  readonly seed?: number
  /** Virtual time from an event to its workflow task, in ms. */
  readonly taskLatencyMs?: (random: () => number) => number
  /** Whether a run leaves its worker's cache after a task. */
  readonly isEvicted?: (random: () => number) => boolean
}

const taskKinds = ['workflow', 'activity'] as const
const { RETRY_STATE_TIMEOUT: timedOut, RETRY_STATE_RETRY_POLICY_NOT_SET: noRetryPolicy } =
  proto.temporal.api.enums.v1.RetryState

/** A run that continues another begins its work no sooner than this after the start of that one (`history.continueAsNewMinInterval`). */
const shortestRunMs = 1000

/** A Temporal server and Core in memory, on any clock: runs with their histories, workers that come and go. One seed gives one course of events. */
export class TemporalServer {
  readonly runs: Run[] = []
  readonly #clock: ServerClock
  readonly #workers: Worker[] = []
  readonly #current = new Map<string, Run>()
  #begun = 0
  #failure: Error | undefined
  /** Tasks that no worker has taken yet. Each says whether it is taken now. */
  #backlog: (() => boolean)[] = []
  /** Requests for tasks that processes had sent when they froze. */
  #openPolls: { readonly worker: Worker; readonly queue: string; readonly kind: Offer['kind'] }[] = []
  readonly #random: () => number
  readonly #tasks: WorkflowTasks
  readonly #attempts: ActivityAttempts

  constructor(worldClock: Clock, { seed = 1, taskLatencyMs, isEvicted, ...options }: TemporalOptions = {}) {
    const clock = new ServerClock(worldClock)
    this.#clock = clock
    this.#random = randomNumbers(seed)
    const server = {
      clock,
      deliver: (run: Run, happen: () => Job | undefined) => this.#tasks.deliver(run, happen),
      whenWorker: this.#whenWorker.bind(this),
      slotIsFree: () => this.#offerBacklog(),
    }
    this.#attempts = new ActivityAttempts({
      ...server,
      resolveLocal: (run, activity, result) => this.#tasks.resolveLocal(run, activity, result),
    })
    const commandServer = {
      ...server,
      schedule: this.#attempts.schedule.bind(this.#attempts),
      cancelActivity: this.#attempts.cancel.bind(this.#attempts),
      current: this.current.bind(this),
      begin: this.#begin.bind(this),
      signal: this.signalRun.bind(this),
      cancelRun: this.cancelRun.bind(this),
      terminate: this.terminateRun.bind(this),
      close: this.#close.bind(this),
    }
    this.#tasks = new WorkflowTasks(
      {
        ...server,
        startLocal: this.#attempts.startLocal.bind(this.#attempts),
        failed: (run, error) => {
          run.taskErrors.push(error)
          this.#failure ??= error
        },
        carryOut: (run, command, ids) => carryOut(commandServer, run, { command, ids }),
      },
      {
        ...options,
        ...(taskLatencyMs === undefined ? {} : { taskLatencyMs: () => taskLatencyMs(this.#random) }),
        ...(isEvicted === undefined ? {} : { isEvicted: () => isEvicted(this.#random) }),
      },
    )
  }

  /** Activations that were not replays. */
  get activations(): number {
    return this.#tasks.activations
  }

  /** The first error of a workflow task of any run. */
  get failure(): Error | undefined {
    return this.#failure
  }

  get clock(): Clock {
    return this.#clock
  }

  get isAway(): boolean {
    return this.#clock.isAway
  }

  /** `kill -9` of the server, which is back after a while with all that it had. Until then it answers nothing, and processes try again. */
  leave(ms: number): void {
    this.#clock.leave(ms, () => this.#offerBacklog())
  }

  /** Loses all runs. What workers still do for one is answered as for a run that has ended. */
  forget(): void {
    for (const run of this.runs) this.#end(run, 'terminated', { workflowExecutionTerminatedEventAttributes: {} })
    this.runs.length = 0
    this.#current.clear()
  }

  addWorker(worker: Worker): Worker {
    this.#workers.push(worker)
    this.#offerBacklog()
    return worker
  }

  /** A worker that shuts down takes no more tasks; what it runs goes on. */
  removeWorker(worker: Worker): void {
    this.#workers.splice(this.#workers.indexOf(worker), 1)
    for (const run of this.runs) if (run.cached?.worker === worker && run.task === undefined) run.evict()
  }

  #offerBacklog(): void {
    // What is taken may offer more.
    const offered = this.#backlog.splice(0)
    this.#backlog = [...offered.filter((take) => !take()), ...this.#backlog]
  }

  /** The process stands still. It has one request for a task of each kind open at each of its queues. */
  freeze(process: SimulatedProcess): void {
    process.freeze()
    const workers = this.#workers.filter((worker) => worker.process === process)
    this.#openPolls.push(
      ...workers.flatMap((worker) =>
        [...worker.queues].flatMap((queue) => taskKinds.map((kind) => ({ worker, queue, kind }))),
      ),
    )
  }

  /** The process goes on, and asks for work again. */
  thaw(process: SimulatedProcess): void {
    process.thaw()
    this.#offerBacklog()
  }

  /** The process reaches the server again, and asks for work. */
  reach(process: SimulatedProcess): void {
    process.reach('temporal')
    this.#offerBacklog()
  }

  /** The process is gone. What waits for it is noticed by its time limits. */
  kill(process: SimulatedProcess): void {
    process.kill()
    for (const run of this.runs) if (run.cached?.worker.process === process) run.evict()
  }

  /** The latest run of a workflow; undefined when there is none. */
  current(workflowId: string): Run | undefined {
    return this.#current.get(workflowId)
  }

  /** Starts a workflow. Errors: one of its id is running. */
  startRun(start: RunStart): Run {
    if (this.#current.get(start.workflowId)?.isRunning === true)
      throw new Error(`${start.workflowId} is running already`)
    return this.#begin(start, {})
  }

  signalRun(
    run: Run,
    { signalName, input }: { readonly signalName: string; readonly input: readonly Payload[] },
  ): void {
    const identity = 'client'
    this.#tasks.deliver(run, () => {
      run.history.add(this.#clock.now(), {
        workflowExecutionSignaledEventAttributes: { signalName, input: { payloads: [...input] }, identity },
      })
      return { signalWorkflow: { signalName, input: [...input], identity } }
    })
  }

  cancelRun(run: Run, reason: string): void {
    this.#tasks.deliver(run, () => {
      run.history.add(this.#clock.now(), {
        workflowExecutionCancelRequestedEventAttributes: { cause: reason, identity: 'client' },
      })
      return { cancelWorkflow: { reason } }
    })
  }

  terminateRun(run: Run, reason: string): void {
    this.#end(run, 'terminated', { workflowExecutionTerminatedEventAttributes: { reason, identity: 'client' } })
  }

  /** The run ends without its workflow. */
  #end(run: Run, status: RunStatus, event: Attributes): void {
    if (!run.isRunning) return
    this.#tasks.abandon(run)
    run.history.add(this.#clock.now(), event)
    this.#close(run, { status })
    run.evict()
  }

  /** Ends a run and begins another where it was before a workflow task; signals and updates that came later follow. */
  resetRun(run: Run, completedEventId: number, reason: string): Run {
    const again = resetCopy(run, this.#newRunId(), completedEventId)
    this.terminateRun(run, reason)
    this.#add(again)
    this.#tasks.deliver(again, () => {
      again.history.add(this.#clock.now(), resetEvent(again, run, reason))
      return undefined
    })
    for (const event of run.history.events.slice(completedEventId)) {
      const signal = event.workflowExecutionSignaledEventAttributes
      if (signal != null)
        this.signalRun(again, { signalName: signal.signalName ?? '', input: signal.input?.payloads ?? [] })
      const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest
      if (update != null)
        void this.updateRun(again, {
          id: update.meta?.updateId ?? '',
          name: update.input?.name ?? '',
          input: update.input?.args?.payloads ?? [],
        })
    }
    return again
  }

  /** Sends an update and waits for its outcome. One whose id the run knows is the same update. */
  updateRun(
    run: Run,
    { id, name, input }: { readonly id: string; readonly name: string; readonly input: readonly Payload[] },
  ): Promise<UpdateOutcome> {
    const known = run.updates.get(id)
    if (known !== undefined) return known.settled
    const meta = { updateId: id, identity: 'client' }
    const { promise: settled, resolve: settle } = Promise.withResolvers<UpdateOutcome>()
    const request = { meta, input: { name, args: { payloads: [...input] } } }
    run.updates.set(id, { request, settle, settled, acceptedEventId: 0 })
    this.#tasks.deliver(run, () => ({
      doUpdate: { id, protocolInstanceId: id, name, input: [...input], meta, runValidator: true },
    }))
    return settled
  }

  /** Asks a workflow, which is replayed if no worker has it. Errors: no worker serves it, or its handler throws. */
  queryRun(run: Run, queryType: string, input: readonly Payload[]): Payload {
    const worker = this.#workerFor(run.identity.taskQueue)
    const workflow = worker === undefined ? undefined : this.#tasks.workflowFor(run, worker)
    if (workflow === undefined) throw new Error(`no worker polls ${run.identity.taskQueue}`)
    const { commands } = workflow.activate({
      nowMs: this.#clock.now(),
      historyLength: run.history.length,
      historySize: run.history.bytes,
      continueAsNewSuggested: false,
      isReplaying: false,
      flags: [],
      jobs: [{ queryWorkflow: { queryId: 'query', queryType, arguments: [...input] } }],
    })
    if (!run.isRunning) run.evict()
    const { succeeded, failed } = commands[0]?.respondToQuery ?? {}
    if (failed != null) throw new Error(failed.message ?? 'the query failed')
    return succeeded?.response ?? {}
  }

  /** Somebody other than its worker says how an attempt at an activity ended. Returns whether there is one under way. */
  endAttempt(run: Run, activityId: string, result: AttemptResult): boolean {
    return this.#attempts.endFromOutside(run, activityId, result)
  }

  /** Names of the processes that ask for tasks of a queue. */
  pollersOf(queue: string): readonly string[] {
    const asking = this.#workers.filter((worker) => worker.queues.has(queue) && isPolling(worker))
    return [...new Set(asking.map(({ identity }) => identity))]
  }

  /** Whether a living worker polls a queue. */
  isServed(queue: string): boolean {
    return this.#workerFor(queue) !== undefined
  }

  /** One of the workers that ask for a task of a queue, at random where there are several. */
  #workerFor(queue: string, hasRoom: (worker: Worker) => boolean = () => true): Worker | undefined {
    if (this.isAway) return undefined
    const asking = this.#workers.filter((worker) => worker.queues.has(queue) && isPolling(worker) && hasRoom(worker))
    return asking.length < 2 ? asking[0] : asking[Math.floor(this.#random() * asking.length)]
  }

  /** A frozen process has asked for a task of each queue before, which it gets and does nothing about. */
  #lostTo(kind: Offer['kind'], queue: string): Worker | undefined {
    this.#openPolls = this.#openPolls.filter(({ worker: { process } }) => process.isFrozen)
    const at = this.#openPolls.findIndex((poll) => poll.kind === kind && poll.queue === queue)
    return at === -1 ? undefined : this.#openPolls.splice(at, 1)[0]?.worker
  }

  #whenWorker({ kind, queue, take, isOver, hasRoom }: Offer): void {
    const isTaken = () => {
      if (isOver()) return true
      const worker = this.#lostTo(kind, queue) ?? this.#workerFor(queue, hasRoom)
      if (worker === undefined) return false
      take(worker)
      return true
    }
    if (!isTaken()) this.#backlog.push(isTaken)
  }

  #close(
    run: Run,
    { status, ...outcome }: { readonly status: RunStatus } & Partial<Pick<Run, 'result' | 'failure'>>,
  ): void {
    run.status = status
    run.closedMs = this.#clock.now()
    Object.assign(run, outcome)
    run.stopLimit()
    for (const { stop } of run.timers.values()) stop()
    for (const activity of run.activities.values()) {
      // An attempt under way hears of it with its next heartbeat.
      activity.isCancelRequested = true
      endActivity(activity)
    }
    for (const update of run.updates.values()) update.settle('closed')
    for (const report of run.onClosed.splice(0)) report()
  }

  #begin(start: RunStart, { continued, parent }: { readonly continued?: Run; readonly parent?: Run }): Run {
    const { workflowType, workflowId, taskQueue, input, memo, searchAttributes, limits = {} } = start
    const runId = this.#newRunId()
    const run = new Run(
      {
        runId,
        workflowId,
        workflowType,
        taskQueue,
        firstRunId: continued?.identity.firstRunId ?? runId,
        continuedFromRunId: continued?.identity.runId,
        parent: parent === undefined ? undefined : { workflowId: parent.workflowId, runId: parent.identity.runId },
        startMs: continued?.identity.startMs ?? this.#clock.now(),
        seed: randomnessOf(runId),
      },
      { memo, searchAttributes, startedMs: this.#clock.now(), limits },
    )
    if (continued !== undefined) run.notBeforeMs = continued.startedMs + shortestRunMs
    this.#add(run)
    this.#tasks.deliver(run, () => startOf(run, input, this.#clock.now()))
    return run
  }

  readonly #newRunId = () => `run-${++this.#begun}`

  /** A run is its workflow's latest one, and ends when its time is over. */
  #add(run: Run): void {
    this.runs.push(run)
    this.#current.set(run.workflowId, run)
    const { runMs = Number.POSITIVE_INFINITY, executionMs = Number.POSITIVE_INFINITY } = run.limits
    const [runEndMs, lastMs] = [run.startedMs + runMs, run.identity.startMs + executionMs]
    const retryState = lastMs <= runEndMs ? timedOut : noRetryPolicy
    if (Number.isFinite(Math.min(runEndMs, lastMs)))
      run.stopLimit = this.#clock.at(Math.min(runEndMs, lastMs), () =>
        this.#end(run, 'timedOut', { workflowExecutionTimedOutEventAttributes: { retryState } }),
      )
  }
}
