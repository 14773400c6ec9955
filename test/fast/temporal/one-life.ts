// A lifecycle of the production bundle with scripted activities: the simulated server is under test.
import { Context } from '@temporalio/activity'
import { lifecycleId } from '../../../core/task-queues.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import { passUntil, VirtualClock } from '../virtual-clock.ts'
import { type ActivityFunctions, simulatedWorker } from './activity-runner.ts'
import { taskQueues } from './queues.ts'
import type { Run, Worker } from './run.ts'
import { lifecycleStart, phaseOf, signal, update } from './run-messages.ts'
import { type TemporalOptions, TemporalServer } from './temporal-server.ts'
import type { WorkflowHost } from './workflow-host.ts'

export const startMs = Date.parse('2030-01-01T00:00:00Z')
const wakeAtMs = startMs + 30 * 24 * 3_600_000

const claim = { name: 'a', uid: 'uid-a' }
export const workflowId = lifecycleId('test', claim)

export interface Story {
  isDeleted: boolean
  isGone: boolean
  isReady: boolean
  launches: number
}

export type Activities = Record<string, (...args: never[]) => Promise<unknown>>

export class OneLife {
  readonly clock = new VirtualClock(startMs)
  readonly temporal: TemporalServer
  readonly story: Story = { isDeleted: false, isGone: false, isReady: false, launches: 0 }
  readonly activities: Activities
  readonly #host: WorkflowHost
  #processes = 0

  constructor(host: WorkflowHost, options: TemporalOptions = {}) {
    this.#host = host
    this.temporal = new TemporalServer(this.clock, options)
    this.activities = activitiesOf(this.clock, this.story)
  }

  startProcess(activities: ActivityFunctions = this.activities): Worker {
    this.#processes += 1
    return this.temporal.addWorker(
      simulatedWorker({
        process: new SimulatedProcess(`process-${this.#processes}`),
        host: this.#host,
        queues: taskQueues,
        activities,
      }),
    )
  }

  begin(): Run {
    return this.temporal.startRun(lifecycleStart(workflowId, claim))
  }

  get run(): Run {
    const run = this.temporal.current(workflowId)
    if (run === undefined) throw new Error('the lifecycle has not begun')
    return run
  }

  /** `leaving`: what else the poke says. */
  delete(...leaving: readonly unknown[]): void {
    this.story.isDeleted = true
    this.signal('observeAgain', 'deleted', ...leaving)
  }

  /** Errors: a workflow task failed, or it did not happen within a virtual day. */
  async until(what: string, holds: () => unknown): Promise<void> {
    await passUntil(this.clock, what, () => {
      const error = this.temporal.runs.flatMap(({ taskErrors }) => taskErrors)[0]
      if (error !== undefined)
        throw new Error(`a workflow task failed: ${this.run.history.types().slice(-12).join(' ')}`, { cause: error })
      return holds()
    })
  }

  phase(): string | undefined {
    return phaseOf(this.temporal, this.run)
  }

  signal(name: string, ...args: readonly unknown[]): void {
    signal(this.temporal, this.run, name, ...args)
  }

  update(name: string, ...args: readonly unknown[]): Promise<unknown> {
    return update(this.temporal, this.run, name, ...args)
  }
}

function activitiesOf(clock: VirtualClock, story: Story): Activities {
  /** Waits with heartbeats, and ends early when it is cancelled. */
  const wait = async (ms: number) => {
    const { cancelled } = Context.current()
    for (const endMs = clock.now() + ms; clock.now() < endMs; ) {
      Context.current().heartbeat()
      await Promise.race([clock.sleep(Math.min(2000, endMs - clock.now())), cancelled])
    }
  }
  const offering = { capacityType: 'on-demand', zone: '1', instanceType: 'Standard_D2s_v5' }
  return {
    observe: async () => ({ step: nextStep(story), nodePool: 'default' }),
    launch: async () => {
      story.launches += 1
      await wait(900)
      if (story.launches === 1)
        return { kind: 'capacity', reason: 'ZonalAllocationFailed', message: 'none', ...offering }
      if (story.launches === 2) throw new Error('the answer is lost')
      return { kind: 'launched', providerId: 'azure:///a', imageId: 'i', acceptedMs: clock.now(), ...offering }
    },
    awaitNode: async () => {
      await wait(40_000)
      return { kind: 'registered', nodeName: 'aks-a', registeredMs: clock.now() }
    },
    awaitInitialization: async () => {
      await wait(9000)
      story.isReady = true
      return { kind: 'initialized', readyMs: clock.now(), wakeAtMs }
    },
    drain: async () => {
      await wait(5000)
      return { kind: 'drained', pods: 3 }
    },
    deleteInstance: async () => {
      await wait(30_000)
      story.isGone = true
      return { existed: true, goneMs: clock.now() }
    },
    writeHold: async () => ({ kind: 'written', message: 'held until noon' }),
  }
}

function nextStep({ isGone, isDeleted, isReady }: Story) {
  if (isGone) return { kind: 'finished' }
  if (isDeleted) return { kind: 'terminate' }
  return isReady ? { kind: 'steady', wakeAtMs } : { kind: 'launch', startedAtMs: startMs }
}
