import type { temporal } from '@temporalio/proto'
import type { Cancel, Clock } from '../../virtual-clock.ts'
import { msOf } from '../protocol.ts'
import type { Run } from '../run.ts'

type Schedule = temporal.api.schedule.v1.ISchedule
type Start = temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest

interface Kept {
  readonly schedule: Schedule
  last?: Run
  /** Waits for the end of the run that is under way. */
  isBuffered?: boolean
  stop: Cancel
}

/** Schedules with intervals, a jitter and the overlap policy SKIP: what Joiner asks for. Triggers have BUFFER_ONE. */
export class Schedules {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #start: (request: Start) => Run
  readonly #kept = new Map<string, Kept>()

  constructor(
    { clock, random }: { readonly clock: Clock; readonly random: () => number },
    start: (request: Start) => Run,
  ) {
    this.#clock = clock
    this.#random = random
    this.#start = start
  }

  /** Returns false when there is one of this id. */
  create(id: string, schedule: Schedule): boolean {
    if (this.#kept.has(id)) return false
    const kept: Kept = { schedule, stop: () => {} }
    this.#kept.set(id, kept)
    this.#wait(kept)
    return true
  }

  get(id: string): Schedule | undefined {
    return this.#kept.get(id)?.schedule
  }

  delete(id: string): void {
    this.#kept.get(id)?.stop()
    this.#kept.delete(id)
  }

  /** Acts now; after the run that is under way, if there is one, and once for all who ask meanwhile. */
  trigger(id: string): void {
    const kept = this.#kept.get(id)
    if (kept === undefined || kept.isBuffered === true) return
    if (kept.last?.isRunning !== true) return this.#act(kept, this.#clock.now())
    kept.isBuffered = true
    kept.last.onClosed.push(() => {
      kept.isBuffered = false
      if (this.#kept.get(id) === kept) this.#act(kept, this.#clock.now())
    })
  }

  /** Intervals are counted from the epoch; each action is late by a part of the jitter. */
  #wait(kept: Kept): void {
    const { interval, jitter } = kept.schedule.spec ?? {}
    const everyMs = msOf(interval?.[0]?.interval)
    if (everyMs === undefined) throw new Error('only Schedules with an interval are simulated')
    const dueMs = (Math.floor(this.#clock.now() / everyMs) + 1) * everyMs
    const lateMs = Math.floor(this.#random() * (msOf(jitter) ?? 0))
    kept.stop = this.#clock.at(dueMs + lateMs, () => {
      this.#act(kept, dueMs)
      this.#wait(kept)
    })
  }

  #act(kept: Kept, dueMs: number): void {
    const action = kept.schedule.action?.startWorkflow
    if (action == null || kept.last?.isRunning === true) return
    const workflowId = `${action.workflowId}-${new Date(dueMs).toISOString().slice(0, 19)}Z`
    kept.last = this.#start({ ...action, workflowId })
  }
}
