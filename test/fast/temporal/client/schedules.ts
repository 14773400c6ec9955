import type { temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'
import type { Cancel, Clock } from '../../virtual-clock.ts'
import { msOf, timestamp } from '../protocol.ts'
import type { Run } from '../run.ts'

type Schedule = temporal.api.schedule.v1.ISchedule
type Start = temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest

const { ScheduleOverlapPolicy } = proto.temporal.api.enums.v1
const { ScheduleInfo } = proto.temporal.api.schedule.v1
/** How many of its last actions a description shows. */
const shownActions = 10

interface Kept {
  readonly schedule: Schedule
  readonly createdMs: number
  /** Runs that it has started, oldest first, each with the time that it was due. */
  readonly actions: { readonly run: Run; readonly dueMs: number }[]
  isPaused: boolean
  /** Why it was paused or resumed last. */
  notes: string
  /** Whether a run begins once the last one has ended. */
  isBuffered: boolean
  stop: Cancel
}

/** Schedules with intervals, a jitter and the overlap policy SKIP: what Joiner asks for. They are triggered with that, or with BUFFER_ONE. */
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
    const kept: Kept = {
      schedule,
      createdMs: this.#clock.now(),
      actions: [],
      isPaused: schedule.state?.paused ?? false,
      notes: schedule.state?.notes ?? '',
      isBuffered: false,
      stop: () => {},
    }
    this.#kept.set(id, kept)
    this.#wait(kept)
    return true
  }

  get(id: string): Schedule | undefined {
    const kept = this.#kept.get(id)
    return kept && { ...kept.schedule, state: { paused: kept.isPaused, notes: kept.notes } }
  }

  /** What a description says of it beside what was asked for. */
  infoOf(id: string): temporal.api.schedule.v1.IScheduleInfo {
    const { createdMs = 0, actions = [] } = this.#kept.get(id) ?? {}
    const executionOf = ({ workflowId, identity }: Run) => ({ workflowId, runId: identity.runId })
    return ScheduleInfo.fromObject({
      createTime: timestamp(createdMs),
      actionCount: actions.length,
      recentActions: actions.slice(-shownActions).map(({ run, dueMs }) => ({
        scheduleTime: timestamp(dueMs),
        actualTime: timestamp(run.startedMs),
        startWorkflowResult: executionOf(run),
      })),
      runningWorkflows: actions.filter(({ run }) => run.isRunning).map(({ run }) => executionOf(run)),
    })
  }

  /** Returns false when there is none of this id. */
  patch(id: string, { triggerImmediately, pause, unpause }: temporal.api.schedule.v1.ISchedulePatch): boolean {
    const kept = this.#kept.get(id)
    if (kept === undefined) return false
    if (pause || unpause) {
      kept.isPaused = Boolean(pause)
      kept.notes = pause || unpause || ''
    }
    if (triggerImmediately != null) this.#trigger(id, kept, triggerImmediately.overlapPolicy)
    return true
  }

  forget(): void {
    for (const id of this.#kept.keys()) this.delete(id)
  }

  delete(id: string): void {
    this.#kept.get(id)?.stop()
    this.#kept.delete(id)
  }

  /** Intervals are counted from the epoch; each action is late by a part of the jitter. */
  #wait(kept: Kept): void {
    const { interval, jitter } = kept.schedule.spec ?? {}
    const everyMs = msOf(interval?.[0]?.interval)
    if (everyMs === undefined) throw new Error('only Schedules with an interval are simulated')
    const dueMs = (Math.floor(this.#clock.now() / everyMs) + 1) * everyMs
    const lateMs = Math.floor(this.#random() * (msOf(jitter) ?? 0))
    kept.stop = this.#clock.at(dueMs + lateMs, () => {
      if (!kept.isPaused) this.#act(kept, dueMs)
      this.#wait(kept)
    })
  }

  #trigger(id: string, kept: Kept, policy: number | null | undefined): void {
    const last = lastOf(kept)
    if (last?.isRunning !== true) return this.#act(kept, this.#clock.now())
    if (policy !== ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE || kept.isBuffered) return
    kept.isBuffered = true
    last.onClosed.push(() => {
      kept.isBuffered = false
      if (this.#kept.get(id) === kept) this.#act(kept, this.#clock.now())
    })
  }

  #act(kept: Kept, dueMs: number): void {
    const action = kept.schedule.action?.startWorkflow
    if (action == null || lastOf(kept)?.isRunning === true) return
    const workflowId = `${action.workflowId}-${new Date(dueMs).toISOString().slice(0, 19)}Z`
    kept.actions.push({ run: this.#start({ ...action, workflowId }), dueMs })
  }
}

const lastOf = ({ actions }: Kept): Run | undefined => actions.at(-1)?.run
