import {
  type Client,
  type ConnectionLike,
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  WorkflowIdConflictPolicy,
} from '@temporalio/client'
import proto from '@temporalio/proto'
import type { Logger } from 'pino'
import { singletonIds, taskQueue } from '../core/task-queues.ts'
import type {
  catalogRefresh,
  disruptionLoop,
  garbageCollection,
  inPlaceUpdates,
  nodeClassStatus,
  provisioningLoop,
} from '../workflows/index.ts'
import { searchAttributes } from '../workflows/search-attributes.ts'

export interface BootstrapDeps {
  readonly client: Client
  readonly connection: Pick<ConnectionLike, 'operatorService'>
  readonly namespace: string
  readonly cluster: string
  readonly log: Logger
}

/** Makes what must exist once per cluster. Every replica calls it at start and at each resync: done already is success. */
export async function bootstrap(deps: BootstrapDeps): Promise<void> {
  await ensureSearchAttributes(deps)
  await ensureLoops(deps)
  await ensureSchedules(deps)
}

async function ensureSearchAttributes({ connection, namespace, log }: BootstrapDeps): Promise<void> {
  const listed = await connection.operatorService.listSearchAttributes({ namespace })
  const missing = Object.values(searchAttributes)
    .map((key) => key.name)
    .filter((name) => listed.customAttributes?.[name] === undefined)
  if (missing.length === 0) return
  const keyword = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, keyword])),
  })
  log.info({ searchAttributes: missing }, 'registered search attributes')
}

async function ensureLoops({ client, cluster }: BootstrapDeps): Promise<void> {
  const common = {
    taskQueue: taskQueue('core', cluster),
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    // A pause is a brake: it must not wait behind the tasks of the many lifecycles whose making it is to stop.
    priority: { priorityKey: 1 },
    args: [{ cluster }] as [{ cluster: string }],
  }
  await Promise.all([
    client.workflow.start<typeof provisioningLoop>('provisioningLoop', {
      ...common,
      workflowId: singletonIds.provisioningLoop(cluster),
      staticSummary: 'pods that need a node -> NodeClaims',
    }),
    client.workflow.start<typeof disruptionLoop>('disruptionLoop', {
      ...common,
      workflowId: singletonIds.disruptionLoop(cluster),
      staticSummary: 'nodes that are not needed -> disruption commands',
    }),
  ])
}

const everyMs = {
  garbageCollection: 120_000,
  nodeClassStatus: 180_000,
  inPlaceUpdates: 300_000,
  catalogRefresh: 12 * 3_600_000,
} as const

async function ensureSchedules({ client, cluster, log }: BootstrapDeps): Promise<void> {
  const names = Object.keys(everyMs) as (keyof typeof everyMs)[]
  await Promise.all(
    names.map(async (name) => {
      try {
        await client.schedule.create<
          typeof garbageCollection | typeof nodeClassStatus | typeof inPlaceUpdates | typeof catalogRefresh
        >({
          scheduleId: `${name}/${cluster}`,
          spec: { intervals: [{ every: everyMs[name] }], jitter: everyMs[name] / 10 },
          policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
          action: { type: 'startWorkflow', workflowType: name, taskQueue: taskQueue('core', cluster), args: [] },
        })
        log.info({ schedule: name }, 'created schedule')
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error
      }
    }),
  )
}
