import type { ActivityInterceptorsFactory, Worker, WorkerDeploymentOptions, WorkerOptions } from '@temporalio/worker'
import { createAzureActivities } from '../activities/azure/activities.ts'
import { armLimits } from '../activities/azure/arm/arm-limits.ts'
import { createKubernetesActivities } from '../activities/kubernetes/activities.ts'
import type { ReconcileMetrics } from '../activities/telemetry/reconcile-metrics.ts'
import type { Role } from '../api/config.ts'
import { type TaskQueueRole, taskQueue } from '../core/task-queues.ts'
import type { GoneProcesses } from '../starter/bridge/gone-processes.ts'
import { dataConverter } from '../starter/temporal/connect.ts'
import type { TemporalSettings } from '../starter/temporal/settings.ts'
import type { ProcessDeps } from './dependencies.ts'
import type { WorkerLink } from './temporal-link.ts'

/**
 * What all replicas together begin: as many as ARM takes writes at once. The budgets of requests are what holds Azure's limits; this holds off
 * whatever would start activities without end.
 */
const azureActivitiesPerSecond = armLimits.armWrites.burst

/**
 * Workflows that a worker keeps in memory. One that was dropped is replayed, 40 events, when something happens to it; lifecycles at rest hear of nothing
 * for days, so the cache is for those that launch or end: with fewer places than lifecycles under way each task replays. Each costs some 80 KiB.
 */
const maxCachedWorkflows = 1200

/** Long polls for each kind of task of a queue. More are no faster, and each takes one of the 1200 that a Temporal frontend serves a namespace. */
const polls = 10

/** Commits wait for their turn, and hold a slot meanwhile. */
const plansAtOnce = 200
const stepsAtOnce = 100

/** Waits are promises that cost next to nothing, but each holds a slot. */
const waitsAtOnce = 5000

export interface TaskWorkersInput {
  readonly link: Pick<WorkerLink, 'createWorker'>
  readonly namespace: string
  /** How payloads and failures are encrypted. */
  readonly settings: Pick<TemporalSettings, 'keys'>
  readonly roles: ReadonlySet<Role>
  readonly deps: ProcessDeps
  /** Whose workers they are. */
  readonly gone: Pick<GoneProcesses, 'identity' | 'interceptor'>
  readonly workflowBundle: { readonly code: string }
  /** The version of the worker that runs workflows. Activities keep to their contract, so their workers have none (ADR 12). */
  readonly version: WorkerDeploymentOptions | undefined
  readonly metrics: ReconcileMetrics
}

const commonOptions = ({ namespace, settings, gone: { identity } }: TaskWorkersInput) =>
  ({
    namespace,
    dataConverter: dataConverter(settings),
    identity,
    // Waits end as soon as they are reported, so that another replica takes them up; writes are not interrupted and finish.
    shutdownGraceTime: '100ms',
    shutdownForceTime: '20s',
  }) satisfies Partial<WorkerOptions>

/** Interceptors of activities with so many slots. While a process is cut off from the API server each step would cost a request's time limit. */
function interceptorsOf({ metrics, gone, deps: { cache } }: TaskWorkersInput, slots: number) {
  const unlessCutOff: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        // Where attempts are counted each has its time.
        if (!info.retryPolicy?.maximumAttempts) cache.throwIfUntold()
        return next(input)
      },
    },
  })
  return { activity: [countActivities(metrics, slots), gone.interceptor, unlessCutOff] }
}

/** A Temporal worker that one process of a cluster runs: that of disruption's planning, or that of maintenance (`leading.ts`). */
export function createLeaderWorker(input: TaskWorkersInput, role: TaskQueueRole, activities: object): Promise<Worker> {
  return input.link.createWorker({
    ...commonOptions(input),
    taskQueue: taskQueue(role, input.deps.cluster),
    activities,
    maxConcurrentActivityTaskExecutions: plansAtOnce,
    interceptors: interceptorsOf(input, plansAtOnce),
    // Commits that are due together share a round.
    maxConcurrentActivityTaskPolls: polls,
  })
}

/** The Temporal workers of a process's roles but planning and maintenance. They share its connection, its cache and its clients. */
export async function createTaskWorkers(input: TaskWorkersInput): Promise<readonly Worker[]> {
  const { link, roles, deps, workflowBundle, version } = input
  const common = commonOptions(input)
  const options: WorkerOptions[] = []
  if (roles.has('core')) {
    const activities = createKubernetesActivities(deps)
    options.push({
      ...common,
      // A message that nobody can read is refused by the workflow that it is for.
      dataConverter: dataConverter(input.settings, 'pass'),
      taskQueue: taskQueue('core', deps.cluster),
      workflowBundle,
      ...(version === undefined ? {} : { workerDeploymentOptions: version }),
      activities,
      interceptors: interceptorsOf(input, stepsAtOnce),
      maxCachedWorkflows,
      maxConcurrentWorkflowTaskExecutions: 40,
      maxConcurrentWorkflowTaskPolls: polls,
      maxConcurrentActivityTaskExecutions: stepsAtOnce,
      maxConcurrentActivityTaskPolls: polls,
      stickyQueueScheduleToStartTimeout: '3s',
    })
    options.push({
      ...common,
      taskQueue: taskQueue('wait', deps.cluster),
      activities,
      interceptors: interceptorsOf(input, waitsAtOnce),
      maxConcurrentActivityTaskExecutions: waitsAtOnce,
      maxConcurrentActivityTaskPolls: polls,
    })
  }
  if (roles.has('azure')) {
    options.push({
      ...common,
      taskQueue: taskQueue('azure', deps.cluster),
      activities: createAzureActivities(deps),
      interceptors: interceptorsOf(input, waitsAtOnce),
      // Launched VMs are waited for here, until their Nodes are ready.
      maxConcurrentActivityTaskExecutions: waitsAtOnce,
      maxConcurrentActivityTaskPolls: polls,
      maxTaskQueueActivitiesPerSecond: azureActivitiesPerSecond,
    })
  }
  return Promise.all(options.map((each) => link.createWorker(each)))
}

/** Returns the interceptor that counts the attempts of a worker's activities. `slots`: how many it runs at once. */
function countActivities(metrics: ReconcileMetrics, slots: number): ActivityInterceptorsFactory {
  return ({ info: { activityType: activity }, cancellationSignal }) => ({
    inbound: {
      execute: (input, next) =>
        metrics.measure({ activity, slots, isCancelled: () => cancellationSignal.aborted }, () => next(input)),
    },
  })
}
