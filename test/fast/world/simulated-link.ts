import type { Worker as SdkWorker, WorkerOptions } from '@temporalio/worker'
import type { WorkerLink } from '../../../workers/temporal-link.ts'
import type { SimulatedProcess } from '../simulated-process.ts'
import { type ActivityFunctions, simulatedWorker } from '../temporal/activity-runner.ts'
import type { AttemptResult, RunningAttempt, Worker } from '../temporal/run.ts'
import type { TemporalServer } from '../temporal/temporal-server.ts'
import type { WorkflowHost } from '../temporal/workflow-host.ts'

export interface LinkInput {
  readonly process: SimulatedProcess
  readonly temporal: TemporalServer
  readonly connection: WorkerLink['connection']
  readonly host: WorkflowHost
}

/** A process's connection to the simulated Temporal: the workers that the product makes poll it. */
export function simulatedLink({ process, temporal, connection, host }: LinkInput): WorkerLink {
  return {
    connection,
    createWorker: async ({
      taskQueue,
      identity = process.name,
      activities,
      interceptors,
      shutdownGraceTime,
    }: WorkerOptions) => {
      const worker = simulatedWorker({
        process,
        identity,
        host,
        queues: [taskQueue ?? ''],
        activities: activities as ActivityFunctions,
        interceptors: interceptors?.activity ?? [],
      })
      // As the product sets it: a number of milliseconds in words.
      const graceMs = Number.parseInt(String(shutdownGraceTime ?? 0), 10)
      return new RunningWorker(worker, temporal, graceMs) as unknown as SdkWorker
    },
    serve: () => {},
    afterReconnect: () => {},
  }
}

/** What the product sees of a worker: it runs until it is shut down, and its activities have ended then. */
class RunningWorker {
  readonly #temporal: TemporalServer
  readonly #polling: Worker
  readonly #graceMs: number
  readonly #attempts = new Set<RunningAttempt>()
  readonly #over = Promise.withResolvers<void>()
  #state: 'INITIALIZED' | 'RUNNING' | 'STOPPING' | 'STOPPED' = 'INITIALIZED'

  constructor(worker: Worker, temporal: TemporalServer, graceMs: number) {
    this.#temporal = temporal
    this.#graceMs = graceMs
    this.#polling = { ...worker, runAttempt: (attempt) => this.#follow(worker.runAttempt(attempt)) }
  }

  getState(): string {
    return this.#state
  }

  run(): Promise<void> {
    this.#state = 'RUNNING'
    this.#temporal.addWorker(this.#polling)
    return this.#over.promise
  }

  shutdown(): void {
    this.#state = 'STOPPING'
    this.#temporal.removeWorker(this.#polling)
    setTimeout(() => {
      for (const { shutDown } of this.#attempts) shutDown()
    }, this.#graceMs)
    this.#endWhenIdle()
  }

  #follow(attempt: RunningAttempt): RunningAttempt {
    this.#attempts.add(attempt)
    const ended = attempt.ended.then((result) => {
      this.#attempts.delete(attempt)
      this.#endWhenIdle()
      return this.#state === 'RUNNING' ? result : asShutdown(result)
    })
    return { ...attempt, ended }
  }

  #endWhenIdle(): void {
    if (this.#state !== 'STOPPING' || this.#attempts.size > 0) return
    this.#state = 'STOPPED'
    this.#over.resolve()
  }
}

/** What a worker cancels because it shuts down has failed, and is tried again. */
function asShutdown(result: AttemptResult): AttemptResult {
  if (!('cancelled' in result) || result.cancelled == null) return result
  const message = 'Worker is shutting down and this activity did not complete in time'
  return { failed: { failure: { message, applicationFailureInfo: { type: 'WorkerShutdown' } } } }
}
