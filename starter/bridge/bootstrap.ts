import {
  type Client,
  type ConnectionLike,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client'
import type { Logger } from 'pino'
import { taskQueue } from '../../core/task-queues.ts'
import type { catalogRefresh, garbageCollection, inPlaceUpdates, nodeClassStatus } from '../../workflows/index.ts'
import { isDenied } from '../temporal/grpc-code.ts'
import { ensureAttributes } from '../temporal/namespace-attributes.ts'
import { type NameOwner, startLoops } from './cluster-loops.ts'

export interface BootstrapDeps {
  readonly client: Client
  /** For the loops: without a codec, since their memo is read by other clusters. */
  readonly plainClient: Pick<Client, 'workflow'>
  readonly connection: Pick<ConnectionLike, 'operatorService' | 'workflowService'>
  readonly namespace: string
  readonly cluster: string
  readonly clusterUid: string
  readonly log: Logger
  /** What the log has said of Schedules that may not be made, and of search attributes: once is enough. */
  readonly reported: Set<string>
  /** What the last call that could look has found of search attributes. */
  readonly known: { withAttributes?: boolean }
  /** Receives whether lifecycles can have search attributes. */
  readonly onAttributes: (areUsable: boolean) => void
}

/**
 * Makes what must exist once per cluster. Every replica calls it at start and at each resync, and the bridge's leader when something is gone: done
 * already is success. Returns whose the cluster's name is; where it is another cluster's nothing of that cluster is changed. Errors: what Temporal says.
 * Search attributes that cannot be looked at for a moment keep no loop from its start.
 */
export async function bootstrap(deps: BootstrapDeps): Promise<NameOwner> {
  const { plainClient: client, cluster, clusterUid, known } = deps
  const looking = ensureUsable(deps)
  const withAttributes = await looking.catch((error: unknown) => {
    if (known.withAttributes === undefined) throw error
    return known.withAttributes
  })
  const owner = await startLoops({ client, cluster, clusterUid, withAttributes })
  if (owner.kind !== 'foreign') await ensureSchedules(deps)
  await looking
  return owner
}

/** Returns whether lifecycles can have search attributes. */
async function ensureUsable(deps: BootstrapDeps): Promise<boolean> {
  const { connection, namespace, log, reported, known, onAttributes } = deps
  const attributes = await ensureAttributes({ connection, namespace, log })
  if (attributes.kind === 'unusable' && !reported.has(attributes.problem)) {
    reported.add(attributes.problem)
    log.warn(
      `lifecycles run without search attributes, and lists in Temporal cannot be filtered: ${attributes.problem}`,
    )
  }
  known.withAttributes = attributes.kind === 'usable'
  onAttributes(known.withAttributes)
  return known.withAttributes
}

const everyMs = {
  garbageCollection: 120_000,
  nodeClassStatus: 180_000,
  inPlaceUpdates: 300_000,
  catalogRefresh: 12 * 3_600_000,
} as const

type ScheduleName = keyof typeof everyMs

/** Returns the ids of the Schedules of a cluster. */
export function scheduleIds(cluster: string): readonly string[] {
  return Object.keys(everyMs).map((name) => `${name}/${cluster}`)
}

async function ensureSchedules(deps: BootstrapDeps): Promise<void> {
  await Promise.all((Object.keys(everyMs) as ScheduleName[]).map((name) => ensureSchedule(deps, name)))
}

async function ensureSchedule(deps: BootstrapDeps, name: ScheduleName): Promise<void> {
  const { client, cluster, log } = deps
  const scheduleId = `${name}/${cluster}`
  try {
    await client.schedule.create<
      typeof garbageCollection | typeof nodeClassStatus | typeof inPlaceUpdates | typeof catalogRefresh
    >({
      scheduleId,
      spec: { intervals: [{ every: everyMs[name] }], jitter: everyMs[name] / 10 },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
      action: { type: 'startWorkflow', workflowType: name, taskQueue: taskQueue('core', cluster), args: [] },
    })
    log.info({ schedule: name }, 'created schedule')
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return
    if (!isDenied(error)) throw error
    if (!(await exists(client, scheduleId))) reportDenied(deps, name)
  }
}

/** Whether a Schedule is there, made by somebody else. One that may not be read counts as missing. */
async function exists(client: Client, scheduleId: string): Promise<boolean> {
  try {
    await client.schedule.getHandle(scheduleId).describe()
    return true
  } catch (error) {
    if (error instanceof ScheduleNotFoundError || isDenied(error)) return false
    throw error
  }
}

function reportDenied({ namespace, cluster, log, reported }: BootstrapDeps, name: ScheduleName): void {
  if (reported.has(name)) return
  reported.add(name)
  const command = [
    `temporal schedule create --schedule-id ${name}/${cluster} --workflow-id ${name}/${cluster}`,
    `--type ${name} --task-queue ${taskQueue('core', cluster)} --interval ${everyMs[name] / 60_000}m`,
    `--overlap-policy Skip --catchup-window 1m --namespace ${namespace}`,
  ].join(' ')
  log.warn(
    { schedule: name },
    `Joiner may not create the Schedule ${name}, which does not run without it; run: ${command}`,
  )
}
