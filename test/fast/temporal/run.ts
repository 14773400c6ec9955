import type { temporal } from '@temporalio/proto'
import type { SimulatedProcess } from '../simulated-process.ts'
import type { Cancel } from '../virtual-clock.ts'
import { History } from './history.ts'
import type { Failure, Job, Payload, ScheduledActivity } from './protocol.ts'
import type { Activated, HistoryState, HostedWorkflow, RunIdentity, WorkflowHost } from './workflow-host.ts'

/** One attempt of an activity, as its worker sees it. */
export interface Attempt {
  readonly run: Run
  readonly activity: PendingActivity
  readonly args: readonly unknown[]
  readonly heartbeatTimeoutMs: number | undefined
  readonly startedMs: number
  readonly heartbeat: (details?: unknown) => void
}

/** How an attempt ended, as the SDK's `Activity.run` returns it. */
export type AttemptResult =
  | { readonly completed: { readonly result?: Payload | null } }
  | { readonly failed: { readonly failure: Failure } }
  | { readonly cancelled: { readonly failure: Failure } }

export interface RunningAttempt {
  readonly ended: Promise<AttemptResult>
  /** Called when the cancellation reaches the worker. */
  readonly cancel: () => void
  /** Called when the worker shuts down: what it cancels then is tried by another one. */
  readonly shutDown: () => void
}

/** The worker of a process: the workflows it hosts, the queues it polls, and how it runs activities. */
export interface Worker {
  readonly process: SimulatedProcess
  /** As the server shows it. */
  readonly identity: string
  readonly host: WorkflowHost
  readonly queues: ReadonlySet<string>
  readonly runAttempt: (attempt: Attempt) => RunningAttempt
  /** How many activities it runs at a time; as many as there are, where it is unset. */
  readonly activitySlots?: number
}

/** A task that the next worker of a queue takes. */
export interface Offer {
  readonly kind: 'workflow' | 'activity'
  readonly queue: string
  readonly take: (worker: Worker) => void
  readonly isOver: () => boolean
  readonly hasRoom?: (worker: Worker) => boolean
}

/** Whether a worker asks for tasks. */
export const isPolling = ({ process }: Worker) =>
  !process.isKilled && !process.isFrozen && !process.isCutFrom('temporal')

/** An activity between its command and its outcome. */
export interface PendingActivity {
  readonly command: ScheduledActivity
  readonly isLocal: boolean
  readonly scheduledMs: number
  /** When the current attempt became due. */
  attemptScheduledMs: number
  scheduledEventId: number
  cancelRequestedEventId: number
  attempt: number
  isCancelRequested: boolean
  isOver: boolean
  /** It waits for a worker, or for its next attempt. */
  isWaiting: boolean
  /** When the next attempt is due, while it waits for that. */
  nextAttemptMs: number | undefined
  lastFailure: Failure | undefined
  heartbeatDetails: unknown
  /** Identity of who took the last attempt, whether it goes on or not. */
  lastWorker: string | undefined
  /** The attempt under way. What an earlier one answers comes too late. */
  running: { readonly worker: Worker; readonly cancel: () => void } | undefined
  readonly timers: Map<string, Cancel>
}

/** One activation of a workflow task, with what came of it. */
export interface PastActivation extends HistoryState, Activated {
  readonly nowMs: number
  readonly jobs: readonly Job[]
  /** Markers of the local activities whose outcomes are among its jobs. */
  readonly markers: readonly temporal.api.history.v1.IMarkerRecordedEventAttributes[]
}

/** A workflow task between its start and its commit. */
export interface OpenTask {
  readonly startedEventId: number
  /** The workflow's time: when the server handed it out, though a frozen worker begins it later, and then when a local activity ended. */
  nowMs: number
  readonly state: HistoryState
  readonly worker: Worker
  readonly activations: PastActivation[]
  readonly localActivities: Set<PendingActivity>
  readonly timers: Cancel[]
}

/** What came of an update, or that its run has ended first. */
export type UpdateOutcome = temporal.api.update.v1.IOutcome | 'closed'

export interface PendingUpdate {
  readonly request: temporal.api.update.v1.IRequest
  readonly settle: (outcome: UpdateOutcome) => void
  readonly settled: Promise<UpdateOutcome>
  acceptedEventId: number
}

export type RunStatus = 'running' | 'completed' | 'failed' | 'cancelled' | 'continuedAsNew' | 'terminated' | 'timedOut'

/** How long a run, and the chain of runs that it belongs to, may take, in ms. */
export interface RunLimits {
  readonly runMs?: number | undefined
  readonly executionMs?: number | undefined
}

/** One run of a workflow, as the server knows it. */
export class Run {
  readonly identity: RunIdentity
  readonly history = new History()
  status: RunStatus = 'running'
  result: unknown
  failure: Failure | undefined
  memo: Record<string, Payload>
  searchAttributes: Record<string, Payload>

  /** Activations of committed workflow tasks: a replay repeats them. */
  readonly past: PastActivation[] = []
  /** Jobs that no workflow task has taken yet. */
  waiting: Job[] = []
  /** What happened while a workflow task ran; the server writes it down after the task. */
  readonly buffered: (() => void)[] = []
  readonly activities = new Map<number, PendingActivity>()
  /** By the sequence numbers of their commands. */
  readonly children = new Map<number, Run>()
  readonly timers = new Map<number, { readonly startedEventId: number; readonly stop: Cancel }>()
  readonly updates = new Map<string, PendingUpdate>()
  readonly onClosed: (() => void)[] = []
  /** Errors of workflow tasks. Temporal retries such a task; a test wants to know of it at once. */
  readonly taskErrors: Error[] = []
  /** Workflow tasks that failed since the last one that did not, as many as their causes. */
  failedTasks: string[] = []

  /** Epoch ms: a run that follows a short one begins its first workflow task no earlier. */
  notBeforeMs = 0
  task: OpenTask | undefined
  isTaskScheduled = false
  /** Whether something happened that needs a workflow task, news for the workflow or not. */
  isTaskDue = false
  scheduledTaskEventId = 0
  committedTasks = 0
  /** Heartbeats of its activities that the server has recorded. */
  heartbeats = 0
  readonly flags = new Set<number>()
  /** The worker that has the workflow in its cache, and is offered its tasks first. */
  cached: { readonly worker: Worker; readonly workflow: HostedWorkflow } | undefined
  stickyWorker: Worker | undefined

  /** Epoch ms. */
  readonly startedMs: number
  closedMs: number | undefined
  readonly limits: RunLimits
  stopLimit: Cancel = () => {}

  constructor(identity: RunIdentity, shown: Pick<Run, 'memo' | 'searchAttributes' | 'startedMs' | 'limits'>) {
    this.identity = identity
    this.startedMs = shown.startedMs
    this.limits = shown.limits
    this.memo = shown.memo
    this.searchAttributes = shown.searchAttributes
  }

  get workflowId(): string {
    return this.identity.workflowId
  }

  get isRunning(): boolean {
    return this.status === 'running'
  }

  /** What lists tell of a run whose workflow tasks have failed five times in a row. */
  get reportedProblems(): readonly string[] {
    const cause = this.failedTasks.at(-1)
    return this.failedTasks.length < 5 ? [] : ['category=WorkflowTaskFailed', `cause=WorkflowTaskFailedCause${cause}`]
  }

  /** All completions of the run: two runs that behaved the same have the same bytes. */
  get bytes(): Buffer {
    return Buffer.concat(this.past.map(({ bytes }) => bytes))
  }

  /** Removes the workflow from its worker's cache; the next task begins with a replay. */
  evict(): void {
    this.cached?.workflow.dispose()
    this.cached = undefined
  }
}

/** Stops what an activity still waits for. */
export function endActivity(activity: PendingActivity): void {
  activity.isOver = true
  for (const stop of activity.timers.values()) stop()
  activity.timers.clear()
}
