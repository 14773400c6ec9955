import { type Client, type ConnectionLike, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client'
import type { Logger } from 'pino'
import { maintenanceScheduleId, taskQueue } from '../../core/task-queues.ts'
import type { maintenance } from '../../workflows/index.ts'
import { raiseRetention, recommendedHours } from '../temporal/bundled.ts'
import { describedSchedule } from '../temporal/findings/schedule.ts'
import { isDenied } from '../temporal/grpc-code.ts'
import { ensureAttributes } from '../temporal/namespace-attributes.ts'
import { type NameOwner, startLoops } from './cluster-loops.ts'

export interface BootstrapDeps {
  readonly client: Client
  /** For the loops: without a codec, since their memo is read by other clusters. */
  readonly plainClient: Pick<Client, 'workflow'>
  readonly connection: Pick<ConnectionLike, 'operatorService' | 'workflowService'>
  readonly namespace: string
  /** Whether this Temporal is the chart's own. */
  readonly isBundled: boolean
  readonly cluster: string
  readonly clusterUid: string
  readonly log: Logger
  /** What the log has said of a Schedule that may not be made, and of search attributes: once is enough. */
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
  if (owner.kind !== 'foreign') await ensureSchedule(deps)
  if (deps.isBundled) await keepForLonger(deps)
  await looking
  return owner
}

/** No node waits for it. */
async function keepForLonger({ connection, namespace, log }: BootstrapDeps): Promise<void> {
  try {
    if (await raiseRetention(connection, namespace))
      log.info({ namespace, hours: recommendedHours }, 'raised the retention of Temporal')
  } catch (error) {
    log.warn({ err: error, namespace }, 'the retention of Temporal was not raised, the next resync retries')
  }
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

const everyMinutes = 10

async function ensureSchedule(deps: BootstrapDeps): Promise<void> {
  const { client, cluster, log } = deps
  const scheduleId = maintenanceScheduleId(cluster)
  try {
    await client.schedule.create<typeof maintenance>({
      scheduleId,
      spec: { intervals: [{ every: everyMinutes * 60_000 }], jitter: everyMinutes * 6000 },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
      action: { type: 'startWorkflow', workflowType: 'maintenance', taskQueue: taskQueue('core', cluster), args: [] },
    })
    log.info({ schedule: scheduleId }, 'created schedule')
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return
    if (!isDenied(error)) throw error
    // Somebody else may have made it. One that may not be read counts as missing.
    const found = await describedSchedule(client, scheduleId).catch((cause: unknown) => {
      if (!isDenied(cause)) throw cause
    })
    if (found === undefined) reportDenied(deps, scheduleId)
  }
}

function reportDenied({ namespace, cluster, log, reported }: BootstrapDeps, scheduleId: string): void {
  if (reported.has(scheduleId)) return
  reported.add(scheduleId)
  const command = [
    `temporal schedule create --schedule-id ${scheduleId} --workflow-id ${scheduleId}`,
    `--type maintenance --task-queue ${taskQueue('core', cluster)} --interval ${everyMinutes}m`,
    `--overlap-policy Skip --catchup-window 1m --namespace ${namespace}`,
  ].join(' ')
  log.warn(
    { schedule: scheduleId },
    `Joiner may not create the Schedule ${scheduleId}, which does not run without it; run: ${command}`,
  )
}
