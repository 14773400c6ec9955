import type { ConnectionLike } from '@temporalio/client'
import { InternalConnectionLikeSymbol } from '@temporalio/client/lib/types.js'
import type { temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'
import type { Clock } from '../virtual-clock.ts'
import { notConnected, refusal, service } from './client/grpc-service.ts'
import { pendingActivities } from './client/pending-activities.ts'
import { Schedules } from './client/schedules.ts'
import { type ListedRun, statusOf, visibilityQuery } from './client/visibility.ts'
import { timestamp } from './protocol.ts'
import type { AttemptResult, Run } from './run.ts'
import { limitsOf } from './run-start.ts'
import type { TemporalServer } from './temporal-server.ts'

/** A request as a client makes it: whatever it leaves out is unset. */
type Filled<T> = { readonly [K in keyof T]-?: NonNullable<T[K]> }

const { WorkflowIdConflictPolicy, WorkflowIdReusePolicy, UpdateWorkflowExecutionLifecycleStage, IndexedValueType } =
  proto.temporal.api.enums.v1

const { WorkflowExecutionInfo } = proto.temporal.api.workflow.v1
const { CountWorkflowExecutionsResponse } = proto.temporal.api.workflowservice.v1

const builtIn = ['WorkflowId', 'WorkflowType', 'TaskQueue', 'ExecutionStatus', 'StartTime', 'CloseTime']
const textType = 1
const keywordType = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
const pageSizeLimit = 1000

export interface ConnectionOptions {
  readonly clock: Clock
  /** How far lists are behind, in ms. */
  readonly lagMs?: number
  readonly random: () => number
}

type Start = temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest
type Execution = temporal.api.common.v1.IWorkflowExecution | null | undefined

/**
 * What a `Client` of the SDK talks to, in place of gRPC: the requests that Joiner or a row of the parity table sends, with Temporal's answers and errors.
 * Any other request is an error that names it.
 */
export class TemporalConnection {
  readonly #server: TemporalServer
  readonly #options: ConnectionOptions
  readonly #schedules: Schedules
  readonly attributes = new Map<string, number>()
  /** Whether its visibility store is down: it lists and counts nothing, and all else works. */
  isVisibilityDown = false
  /** Whether it is a Temporal before 1.30, which does not say whose workflow tasks fail. */
  isOld = false

  constructor(server: TemporalServer, options: ConnectionOptions) {
    this.#server = server
    this.#options = options
    this.#schedules = new Schedules({ clock: server.clock, random: options.random }, (start) => this.#start(start).run)
  }

  /** Loses what it has beside runs: schedules and search attributes. */
  forget(): void {
    this.#schedules.forget()
    this.attributes.clear()
  }

  /** Whether the namespace has a search attribute that takes a text. */
  takesText(name: string): boolean {
    return [textType, keywordType].includes(this.attributes.get(name) ?? 0)
  }

  /** As a client's `connection`. */
  get connection(): ConnectionLike {
    const call = <R>(_: unknown, work: () => Promise<R>) => work()
    const isAway = () => this.#server.isAway
    return {
      workflowService: service('workflowService', this.#workflowService, isAway) as never,
      operatorService: service('operatorService', this.#operatorService, isAway) as never,
      plugins: [],
      close: () => Promise.resolve(),
      ensureConnected: () => (isAway() ? Promise.reject(notConnected()) : Promise.resolve()),
      withDeadline: call,
      withMetadata: call,
      withAbortSignal: call,
      ...eagerStart,
    }
  }

  readonly #operatorService = {
    listSearchAttributes: () => ({ customAttributes: Object.fromEntries(this.attributes) }),
    addSearchAttributes: ({ searchAttributes }: { readonly searchAttributes: Readonly<Record<string, number>> }) => {
      for (const [name, type] of Object.entries(searchAttributes)) this.attributes.set(name, type)
      return {}
    },
    removeSearchAttributes: ({ searchAttributes }: { readonly searchAttributes: readonly string[] }) => {
      for (const name of searchAttributes) this.attributes.delete(name)
      return {}
    },
  }

  readonly #workflowService = {
    startWorkflowExecution: (request: Start) => {
      const { run, isNew } = this.#start(request)
      return { runId: run.identity.runId, started: isNew }
    },
    signalWorkflowExecution: (request: Filled<temporal.api.workflowservice.v1.ISignalWorkflowExecutionRequest>) => {
      const run = this.#running(request.workflowExecution)
      this.#server.signalRun(run, { signalName: request.signalName, input: request.input?.payloads ?? [] })
      return {}
    },
    signalWithStartWorkflowExecution: (
      request: Filled<temporal.api.workflowservice.v1.ISignalWithStartWorkflowExecutionRequest>,
    ) => {
      const current = this.#server.current(request.workflowId)
      const run = current?.isRunning === true ? current : this.#start(request).run
      this.#server.signalRun(run, { signalName: request.signalName, input: request.signalInput?.payloads ?? [] })
      return { runId: run.identity.runId, started: run !== current }
    },
    updateWorkflowExecution: (request: Filled<temporal.api.workflowservice.v1.IUpdateWorkflowExecutionRequest>) =>
      this.#update(request),
    executeMultiOperation: async ({
      operations,
    }: Filled<temporal.api.workflowservice.v1.IExecuteMultiOperationRequest>) => {
      const [{ startWorkflow } = {}, { updateWorkflow } = {}] = operations
      const { run, isNew } = this.#start(startWorkflow ?? {})
      const response = await this.#update((updateWorkflow ?? {}) as never)
      return {
        responses: [{ startWorkflow: { runId: run.identity.runId, started: isNew } }, { updateWorkflow: response }],
      }
    },
    queryWorkflow: ({ execution, query }: Filled<temporal.api.workflowservice.v1.IQueryWorkflowRequest>) => {
      const run = this.#found(execution)
      try {
        const result = this.#server.queryRun(run, query.queryType ?? '', query.queryArgs?.payloads ?? [])
        return { queryResult: { payloads: [result] } }
      } catch (error) {
        throw refusal('invalidArgument', (error as Error).message)
      }
    },
    terminateWorkflowExecution: ({
      workflowExecution,
      reason,
    }: Filled<temporal.api.workflowservice.v1.ITerminateWorkflowExecutionRequest>) => {
      this.#server.terminateRun(this.#running(workflowExecution), reason)
      return {}
    },
    resetWorkflowExecution: ({
      workflowExecution,
      workflowTaskFinishEventId,
      reason,
    }: Filled<temporal.api.workflowservice.v1.IResetWorkflowExecutionRequest>) => {
      const run = this.#server.resetRun(this.#found(workflowExecution), Number(workflowTaskFinishEventId), reason)
      return { runId: run.identity.runId }
    },
    requestCancelWorkflowExecution: (
      request: Filled<temporal.api.workflowservice.v1.IRequestCancelWorkflowExecutionRequest>,
    ) => {
      // One that has ended is left alone, and no error.
      this.#server.cancelRun(this.#found(request.workflowExecution), request.reason)
      return {}
    },
    respondActivityTaskFailedById: (
      request: Filled<temporal.api.workflowservice.v1.IRespondActivityTaskFailedByIdRequest>,
    ) => this.#endAttempt(request, { failed: { failure: request.failure } }),
    respondActivityTaskCanceledById: (
      request: Filled<temporal.api.workflowservice.v1.IRespondActivityTaskCanceledByIdRequest>,
    ) => this.#endAttempt(request, { cancelled: { failure: {} } }),
    describeWorkflowExecution: ({
      execution,
    }: Filled<temporal.api.workflowservice.v1.IDescribeWorkflowExecutionRequest>) => {
      const run = this.#found(execution)
      return {
        workflowExecutionInfo: this.#infoOf({ run, status: run.status }),
        pendingActivities: pendingActivities(run),
      }
    },
    /** All events of a run, or what a client waits for when it wants a run's result: the event that ends it. */
    getWorkflowExecutionHistory: async ({
      execution,
      waitNewEvent,
    }: Filled<temporal.api.workflowservice.v1.IGetWorkflowExecutionHistoryRequest>) => {
      const run = this.#found(execution)
      if (!waitNewEvent) return { history: run.history.exported(), nextPageToken: new Uint8Array() }
      if (run.isRunning) await new Promise<void>((resolve) => void run.onClosed.push(resolve))
      return { history: { events: run.history.exported().events?.slice(-1) ?? [] }, nextPageToken: new Uint8Array() }
    },
    listWorkflowExecutions: ({
      query,
      pageSize,
      nextPageToken,
    }: Filled<temporal.api.workflowservice.v1.IListWorkflowExecutionsRequest>) => {
      const found = this.#listed(query)
      const from = Number(Buffer.from(nextPageToken ?? []).toString() || 0)
      const to = from + Math.min(pageSize || pageSizeLimit, pageSizeLimit)
      const token = to < found.length ? Buffer.from(String(to)) : new Uint8Array()
      return { executions: found.slice(from, to).map((listed) => this.#infoOf(listed)), nextPageToken: token }
    },
    countWorkflowExecutions: ({ query }: Filled<temporal.api.workflowservice.v1.ICountWorkflowExecutionsRequest>) =>
      CountWorkflowExecutionsResponse.fromObject({ count: this.#listed(query).length }),
    createSchedule: (request: Filled<temporal.api.workflowservice.v1.ICreateScheduleRequest>) => {
      if (!this.#schedules.create(request.scheduleId, request.schedule ?? {}))
        throw refusal('alreadyExists', `schedule "${request.scheduleId}" is already running`)
      return { conflictToken: new Uint8Array() }
    },
    describeSchedule: ({ scheduleId }: Filled<temporal.api.workflowservice.v1.IDescribeScheduleRequest>) => {
      const schedule = this.#schedules.get(scheduleId)
      if (schedule === undefined) throw refusal('notFound', `schedule "${scheduleId}" not found`)
      return { schedule, info: this.#schedules.infoOf(scheduleId) }
    },
    patchSchedule: ({ scheduleId, patch }: Filled<temporal.api.workflowservice.v1.IPatchScheduleRequest>) => {
      if (!this.#schedules.patch(scheduleId, patch)) throw refusal('notFound', `schedule "${scheduleId}" not found`)
      return {}
    },
    /** A server also shows those that have asked a moment ago and are gone. */
    describeTaskQueue: ({ taskQueue }: Filled<temporal.api.workflowservice.v1.IDescribeTaskQueueRequest>) => {
      const lastAccessTime = timestamp(this.#options.clock.now())
      return { pollers: this.#server.pollersOf(taskQueue.name ?? '').map((identity) => ({ identity, lastAccessTime })) }
    },
    getSystemInfo: () => ({ serverVersion: this.isOld ? '1.29.1' : '1.31.2' }),
    describeNamespace: () => ({ config: { workflowExecutionRetentionTtl: { seconds: 7 * 86_400 } } }),
    /** No worker has a version. */
    describeWorkerDeployment: () => {
      throw refusal('notFound', 'no Worker Deployment found')
    },
    deleteSchedule: ({ scheduleId }: Filled<temporal.api.workflowservice.v1.IDeleteScheduleRequest>) => {
      this.#schedules.delete(scheduleId)
      return {}
    },
  }

  #start(request: Start): { readonly run: Run; readonly isNew: boolean } {
    const workflowId = request.workflowId ?? ''
    const current = this.#server.current(workflowId)
    if (current?.isRunning === true) {
      const { WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING } =
        WorkflowIdConflictPolicy
      if (request.workflowIdConflictPolicy === WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
        return { run: current, isNew: false }
      if (request.workflowIdConflictPolicy !== WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING)
        throw refusal('alreadyExists', `Workflow execution is already running. WorkflowId: ${workflowId}`)
      this.#server.terminateRun(current, 'TerminateIfRunning WorkflowIdReusePolicy')
    } else if (current !== undefined && !mayStartAgain(current, request.workflowIdReusePolicy))
      throw refusal('alreadyExists', `Workflow execution already finished. WorkflowId: ${workflowId}`)
    const searchAttributes = { ...request.searchAttributes?.indexedFields }
    for (const name of Object.keys(searchAttributes))
      if (!this.takesText(name))
        throw refusal(
          'invalidArgument',
          this.attributes.has(name)
            ? `invalid value for search attribute ${name}`
            : `Namespace default has no mapping defined for search attribute ${name}`,
        )
    const run = this.#server.startRun({
      workflowId,
      workflowType: request.workflowType?.name ?? '',
      taskQueue: request.taskQueue?.name ?? '',
      input: request.input?.payloads ?? [],
      memo: { ...request.memo?.fields },
      searchAttributes,
      ...limitsOf(request.workflowRunTimeout, request.workflowExecutionTimeout),
    })
    return { run, isNew: true }
  }

  async #update({
    workflowExecution,
    request,
  }: Filled<temporal.api.workflowservice.v1.IUpdateWorkflowExecutionRequest>) {
    const run = this.#running(workflowExecution)
    const outcome = await this.#server.updateRun(run, {
      id: request?.meta?.updateId ?? '',
      name: request?.input?.name ?? '',
      input: request?.input?.args?.payloads ?? [],
    })
    if (outcome === 'closed') throw refusal('notFound', 'workflow execution already completed')
    return {
      updateRef: { workflowExecution: executionOf(run), updateId: request?.meta?.updateId },
      outcome,
      stage: UpdateWorkflowExecutionLifecycleStage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED,
    }
  }

  /** Runs as a list shows them: what happened a moment ago it does not know. */
  #listed(query: string | undefined): readonly ListedRun[] {
    if (this.isVisibilityDown) throw refusal('unavailable', 'no usable connection to the visibility store')
    const seenMs = this.#options.clock.now() - (this.#options.lagMs ?? 0)
    let matches: (listed: ListedRun) => boolean
    try {
      matches = visibilityQuery(
        query ?? '',
        (name) =>
          builtIn.includes(name) ||
          (name === 'TemporalReportedProblems' && !this.isOld) ||
          this.attributes.get(name) === keywordType,
      )
    } catch (error) {
      throw refusal('invalidArgument', (error as Error).message)
    }
    return this.#server.runs
      .filter(({ startedMs }) => startedMs <= seenMs)
      .map((run): ListedRun => ({ run, status: (run.closedMs ?? 0) > seenMs ? 'running' : run.status }))
      .filter(matches)
      .toReversed()
  }

  /** Values of search attributes that the namespace does not know any more are left out. */
  #infoOf({ run, status }: ListedRun): temporal.api.workflow.v1.IWorkflowExecutionInfo {
    const known = Object.entries(run.searchAttributes).filter(([name]) => this.attributes.has(name))
    const fields = Object.fromEntries(known)
    return WorkflowExecutionInfo.fromObject({
      execution: executionOf(run),
      type: { name: run.identity.workflowType },
      taskQueue: run.identity.taskQueue,
      status: statusOf[status],
      startTime: timestamp(run.startedMs),
      executionTime: timestamp(run.startedMs),
      ...(run.closedMs === undefined || status === 'running' ? {} : { closeTime: timestamp(run.closedMs) }),
      historyLength: run.history.length,
      memo: { fields: run.memo },
      searchAttributes: { indexedFields: fields },
    })
  }

  #endAttempt(
    {
      workflowId,
      runId,
      activityId,
    }: { readonly workflowId?: string | null; readonly runId?: string | null; readonly activityId?: string | null },
    result: AttemptResult,
  ): object {
    const run = this.#running({ workflowId: workflowId ?? '', runId: runId ?? '' })
    if (!this.#server.endAttempt(run, activityId ?? '', result))
      throw refusal('notFound', `cannot find pending activity with ActivityID ${activityId}`)
    return {}
  }

  #found(execution: Execution): Run {
    const { workflowId, runId } = execution ?? {}
    const found = runId
      ? this.#server.runs.find((run) => run.identity.runId === runId)
      : this.#server.current(workflowId ?? '')
    if (found === undefined || found.workflowId !== workflowId)
      throw refusal('notFound', `workflow not found for ID: ${workflowId}`)
    return found
  }

  #running(execution: Execution): Run {
    const run = this.#found(execution)
    if (!run.isRunning) throw refusal('notFound', 'workflow execution already completed')
    return run
  }
}

/** Lifecycles ask to be started eagerly, which only a connection that workers share can do. */
const eagerStart = { [InternalConnectionLikeSymbol]: { supportsEagerStart: true } }

function mayStartAgain({ status }: Run, policy: Start['workflowIdReusePolicy']): boolean {
  const { WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY } =
    WorkflowIdReusePolicy
  if (policy === WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY) return status !== 'completed'
  return policy !== WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
}

const executionOf = ({ workflowId, identity }: Run) => ({ workflowId, runId: identity.runId })
