import { WorkflowNotFoundError } from '@temporalio/client'
import proto from '@temporalio/proto'
import type { LoopName } from '../../../core/pauses/pauses.ts'
import { maintenanceScheduleId } from '../../../core/task-queues.ts'
import { onQueueOf } from '../../../core/workflow-queries.ts'
import { CommandError } from '../../document/reported-error.ts'
import { counted } from '../../document/words.ts'
import { loopId } from '../../picture/from-temporal.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import { describedSchedule } from '../../temporal/findings/schedule.ts'
import { askLoop } from '../operate/ask-loop.ts'
import { clusterFacts } from '../operate/operator.ts'
import { type Step, type Uninstallation, waitFor } from './context.ts'

const { BatchOperationState } = proto.temporal.api.enums.v1
const reason = 'joiner admin uninstall'

const open = (cluster: string) => `ExecutionStatus = 'Running' AND ${onQueueOf(cluster)}`
const closed = (cluster: string) => `ExecutionStatus != 'Running' AND ${onQueueOf(cluster)}`

/** Pauses both loops, so that no NodeClaim is created and no disruption begins from here on. */
export function pauseStep({ temporal, options, say }: Uninstallation): Step {
  const pause = async (loop: LoopName) => {
    const { by } = await clusterFacts(options, { loop })
    const asked = await askLoop(temporal, loop, { what: 'pause', request: { reason, by } })
    if (asked.kind === 'waiting') say(`  ${asked.message}`)
  }
  return async () => {
    const found = await runningLoops(temporal)
    if (found.length === 0) return undefined
    const run = async () => void (await Promise.all(found.map(pause)))
    return { text: 'pause provisioning and disruption', run }
  }
}

/** Ends what runs in Temporal for this cluster: the Schedule first, since it starts workflows. */
export function workflowsStep(uninstallation: Uninstallation): Step {
  const { temporal } = uninstallation
  const { client, cluster, namespace } = temporal
  return async () => {
    // The list of workflows lags; whether a loop runs is known at once.
    const [scheduled, listed, running] = await Promise.all([
      describedSchedule(client, maintenanceScheduleId(cluster)),
      count(temporal, open(cluster)),
      runningLoops(temporal),
    ])
    const left = Math.max(listed, running.length)
    if (scheduled === undefined && left === 0) return undefined
    return {
      text: `${scheduled === undefined ? '' : 'delete the Schedule and '}end ${counted(left, 'workflow')} in Temporal's namespace "${namespace}"`,
      run: async () => {
        if (scheduled !== undefined) await client.schedule.getHandle(maintenanceScheduleId(cluster)).delete()
        for (const loop of loops) await terminate(temporal, loopId(cluster, loop))
        await batch(uninstallation, { terminationOperation: {} }, open(cluster))
      },
    }
  }
}

/** Deletes the histories of this cluster's closed workflows. */
export function historyStep(uninstallation: Uninstallation): Step {
  const { temporal, options } = uninstallation
  const query = closed(temporal.cluster)
  return async () => {
    const found = options.deleteHistory === true ? await count(temporal, query) : 0
    if (found === 0) return undefined
    const run = () => batch(uninstallation, { deletionOperation: {} }, query)
    return { text: `delete the histories of ${counted(found, 'closed workflow')}`, run }
  }
}

/** Returns how many closed workflows of the cluster Temporal still holds. */
export function closedWorkflows(temporal: TemporalAccess): Promise<number> {
  return count(temporal, closed(temporal.cluster))
}

type Operation = Pick<
  proto.temporal.api.workflowservice.v1.IStartBatchOperationRequest,
  'terminationOperation' | 'deletionOperation'
>

/** Runs a batch operation over a query until nothing matches: the list that it works from lags behind what was started last. */
async function batch(uninstallation: Uninstallation, operation: Operation, query: string): Promise<void> {
  const { temporal } = uninstallation
  const { namespace, connection } = temporal
  let jobId: string | undefined
  await waitFor(uninstallation, {
    missing: async () => {
      const left = await count(temporal, query)
      if (left === 0) return undefined
      if (jobId === undefined || (await isOver(temporal, jobId))) {
        jobId = `joiner-uninstall-${crypto.randomUUID()}`
        await connection.workflowService.startBatchOperation({
          namespace,
          jobId,
          reason,
          visibilityQuery: query,
          ...operation,
        })
      }
      return `${counted(left, 'workflow')} in Temporal's namespace "${namespace}"`
    },
    remedy: `look at: temporal batch list --namespace ${namespace}`,
  })
}

async function isOver({ namespace, connection }: TemporalAccess, jobId: string): Promise<boolean> {
  const { state } = await connection.workflowService.describeBatchOperation({ namespace, jobId })
  if (state === BatchOperationState.BATCH_OPERATION_STATE_FAILED)
    throw new CommandError(
      `Temporal's batch operation "${jobId}" failed; look at: temporal batch describe --namespace ${namespace} --job-id ${jobId}`,
    )
  return state === BatchOperationState.BATCH_OPERATION_STATE_COMPLETED
}

async function count({ client }: TemporalAccess, query: string): Promise<number> {
  return (await client.workflow.count(query)).count
}

const loops: readonly LoopName[] = ['provisioning', 'disruption']

async function runningLoops({ client, cluster }: TemporalAccess): Promise<readonly LoopName[]> {
  const found = loops.map(async (loop) => {
    try {
      const { status } = await client.workflow.getHandle(loopId(cluster, loop)).describe()
      return status.name === 'RUNNING' ? [loop] : []
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return []
      throw error
    }
  })
  return (await Promise.all(found)).flat()
}

async function terminate({ client }: TemporalAccess, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).terminate(reason)
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
}
