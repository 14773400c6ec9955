import type { SimulatedProcess } from '../simulated-process.ts'
import { type Clock, randomNumbers } from '../virtual-clock.ts'
import { ActivityAttempts } from './activity-attempts.ts'
import { carryOut, type RunStart } from './commands.ts'
import { type Job, normalQueue, type Payload, timestamp } from './protocol.ts'
import { endActivity, Run, type RunStatus, type UpdateOutcome, type Worker } from './run.ts'
import { namespace } from './workflow-host.ts'
import { type TaskOptions, WorkflowTasks } from './workflow-tasks.ts'

export interface TemporalOptions extends Omit<TaskOptions, 'taskLatencyMs' | 'isEvicted'> {
  readonly seed?: number
  /** Virtual time from an event to its workflow task, in ms. */
  readonly taskLatencyMs?: (random: () => number) => number
  /** Whether a run leaves its worker's cache after a task. */
  readonly isEvicted?: (random: () => number) => boolean
}

/** A run that continues another begins its work no sooner than this after the start of that one (`history.continueAsNewMinInterval`). */
const shortestRunMs = 1000

/** A Temporal server and Core in memory, on any clock: runs with their histories, workers that come and go. One seed gives one course of events. */
export class TemporalServer {
  readonly runs: Run[] = []
  readonly #clock: Clock
  readonly #workers: Worker[] = []
  readonly #current = new Map<string, Run>()
  /** Tasks that no worker has taken yet. Each says whether it is taken now. */
  #backlog: (() => boolean)[] = []
  readonly #random: () => number
  readonly #tasks: WorkflowTasks
  readonly #attempts: ActivityAttempts

  constructor(clock: Clock, { seed = 1, taskLatencyMs, isEvicted, ...options }: TemporalOptions = {}) {
    this.#clock = clock
    this.#random = randomNumbers(seed)
    const server = {
      clock,
      deliver: (run: Run, happen: () => Job | undefined) => this.#tasks.deliver(run, happen),
      whenWorker: this.#whenWorker.bind(this),
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
      close: this.#close.bind(this),
    }
    this.#tasks = new WorkflowTasks(
      {
        ...server,
        startLocal: this.#attempts.startLocal.bind(this.#attempts),
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

  addWorker(worker: Worker): Worker {
    this.#workers.push(worker)
    this.#backlog = this.#backlog.filter((take) => !take())
    return worker
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
    if (!run.isRunning) return
    this.#tasks.abandon(run)
    run.history.add(this.#clock.now(), { workflowExecutionTerminatedEventAttributes: { reason, identity: 'client' } })
    this.#close(run, { status: 'terminated' })
    run.evict()
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

  /** Whether a living worker polls a queue. */
  isServed(queue: string): boolean {
    return this.#workerFor(queue) !== undefined
  }

  #workerFor(queue: string): Worker | undefined {
    return this.#workers.find(({ process, queues }) => !process.isKilled && queues.has(queue))
  }

  #whenWorker(queue: string, take: (worker: Worker) => void, isOver: () => boolean): void {
    const isTaken = () => {
      if (isOver()) return true
      const worker = this.#workerFor(queue)
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
    const { workflowType, workflowId, taskQueue, input, memo, searchAttributes } = start
    const runId = `run-${this.runs.length + 1}`
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
        seed: Math.floor(this.#random() * 2 ** 32),
      },
      { memo, searchAttributes, startedMs: this.#clock.now() },
    )
    if (continued !== undefined) run.notBeforeMs = continued.startedMs + shortestRunMs
    this.runs.push(run)
    this.#current.set(workflowId, run)
    this.#tasks.deliver(run, () => startOf(run, input, this.#clock.now()))
    return run
  }
}

/** Records the start of a run. Returns what its workflow begins with. */
function startOf(run: Run, input: readonly Payload[], nowMs: number): Job {
  const { runId, workflowId, workflowType, taskQueue, firstRunId, continuedFromRunId, parent, startMs, seed } =
    run.identity
  const shown = { memo: { fields: run.memo }, searchAttributes: { indexedFields: run.searchAttributes } }
  const workflowTaskTimeout = { seconds: 10 as never }
  const same = { ...shown, workflowTaskTimeout, identity: 'client', attempt: 1 }
  run.history.add(nowMs, {
    workflowExecutionStartedEventAttributes: {
      ...same,
      workflowId,
      workflowType: { name: workflowType },
      taskQueue: normalQueue(taskQueue),
      input: { payloads: [...input] },
      originalExecutionRunId: runId,
      firstExecutionRunId: firstRunId,
      ...(continuedFromRunId === undefined ? {} : { continuedExecutionRunId: continuedFromRunId }),
      ...(parent === undefined ? {} : { parentWorkflowNamespace: namespace, parentWorkflowExecution: parent }),
    },
  })
  return {
    initializeWorkflow: {
      ...same,
      workflowId,
      workflowType,
      arguments: [...input],
      randomnessSeed: seed as never,
      firstExecutionRunId: firstRunId,
      startTime: timestamp(startMs),
      ...(continuedFromRunId === undefined ? {} : { continuedFromExecutionRunId: continuedFromRunId }),
      ...(parent === undefined ? {} : { parentWorkflowInfo: { ...parent, namespace } }),
    },
  }
}
