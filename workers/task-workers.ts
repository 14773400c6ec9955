import { type NativeConnection, Worker, type WorkerDeploymentOptions, type WorkerOptions } from '@temporalio/worker'
import { createAzureActivities } from '../activities/azure/activities.ts'
import { armLimits } from '../activities/azure/arm/arm-limits.ts'
import { createKubernetesActivities } from '../activities/kubernetes/activities.ts'
import { createPlanningActivities } from '../activities/planning/activities.ts'
import type { PlanningDeps } from '../activities/planning/dependencies.ts'
import type { Role } from '../api/config.ts'
import { taskQueue } from '../core/task-queues.ts'

/**
 * What all replicas together begin: as many as ARM takes writes at once. The budgets of requests are what holds Azure's limits; this holds off
 * whatever would start activities without end.
 */
const azureActivitiesPerSecond = armLimits.armWrites.burst

export interface TaskWorkersInput {
  readonly connection: NativeConnection
  readonly namespace: string
  readonly roles: ReadonlySet<Role>
  readonly deps: PlanningDeps
  readonly identity: string
  readonly workflowBundle: { readonly code: string }
  /** The version of the worker that runs workflows. Activities keep to their contract, so their workers have none (ADR 12). */
  readonly version: WorkerDeploymentOptions | undefined
}

/** The Temporal workers of a process's roles. They share its connection, its cache and its clients. */
export async function createTaskWorkers({
  connection,
  namespace,
  roles,
  deps,
  identity,
  workflowBundle,
  version,
}: TaskWorkersInput): Promise<readonly Worker[]> {
  const common = {
    connection,
    namespace,
    identity,
    // Waits end as soon as they are told, so that another replica takes them up; writes are not interrupted and finish.
    shutdownGraceTime: '100ms',
    shutdownForceTime: '20s',
  } satisfies Partial<WorkerOptions>
  const options: WorkerOptions[] = []
  if (roles.has('core')) {
    const activities = createKubernetesActivities(deps)
    options.push({
      ...common,
      taskQueue: taskQueue('core', deps.cluster),
      workflowBundle,
      ...(version === undefined ? {} : { workerDeploymentOptions: version }),
      activities,
      maxCachedWorkflows: 2000,
      maxConcurrentWorkflowTaskExecutions: 40,
      maxConcurrentActivityTaskExecutions: 100,
      stickyQueueScheduleToStartTimeout: '3s',
    })
    // Waits are promises that cost nothing, but each holds a slot.
    options.push({
      ...common,
      taskQueue: taskQueue('wait', deps.cluster),
      activities,
      maxConcurrentActivityTaskExecutions: 5000,
    })
  }
  if (roles.has('azure')) {
    options.push({
      ...common,
      taskQueue: taskQueue('azure', deps.cluster),
      activities: createAzureActivities(deps),
      maxConcurrentActivityTaskExecutions: 2000,
      maxTaskQueueActivitiesPerSecond: azureActivitiesPerSecond,
    })
  }
  if (roles.has('planner')) {
    options.push({
      ...common,
      taskQueue: taskQueue('plan', deps.cluster),
      activities: createPlanningActivities(deps),
      maxConcurrentActivityTaskExecutions: 10,
      maxHeartbeatThrottleInterval: '1s',
    })
  }
  return Promise.all(options.map((each) => Worker.create(each)))
}
