import type { Client } from '@temporalio/client'
import color from 'picocolors'
import { timeText } from '../../../core/values/time.ts'
import { runningLifecycles } from '../../../core/workflow-queries.ts'
import { connectClient, temporalClient } from '../../../starter/temporal/connect.ts'
import { clusterName } from '../cluster.ts'
import type { Installation } from '../installation.ts'
import type { LocalCluster } from '../local-cluster.ts'
import { temporalSettings } from '../temporal.ts'
import type { Stage } from './stage.ts'

/** `kill -9` of Joiner while Azure works on its request for a VM: the VM is made, and its answer is lost. Prints the lifecycle's history. */
export async function killDuringLaunch(stage: Stage, cluster: LocalCluster, installation: Installation): Promise<void> {
  const { supervisor } = cluster
  const { operator } = stage
  const operation = 'PUT virtualMachines'
  const fault = { kind: 'latency', ms: 3000, operation }
  await operator.simulator('POST', '/faults', fault)
  const before = (await stage.journal()).length
  await stage.scale(1)
  await stage.until('Joiner has requested a VM, and Azure has not answered yet', async () =>
    (await stage.journal()).slice(before).some(({ method, answer }) => method === 'PUT' && answer === undefined),
  )
  await supervisor.kill('joiner', 'SIGKILL')
  stage.say(color.red('kill -9 of Joiner'))
  await stage.until(
    'Azure has made the VM; Joiner was not there to hear of it',
    async () => (await stage.state()).virtualMachines.length === 1,
  )
  supervisor.start(installation.processSpec())
  stage.say('Joiner is started again')
  await stage.until('the pod runs', async () => (await stage.running()) === 1)
  const requested = (await stage.journal()).slice(before).filter(({ method }) => method === 'PUT')
  const vms = (await stage.state()).virtualMachines.length
  const names = new Set(requested.map(({ name }) => name))
  if (vms !== 1 || names.size !== 1) throw new Error(`${vms} VMs of ${names.size} names were made for one pod`)
  const adopted = (await supervisor.tail('joiner', 400)).includes('adopted existing VM')
    ? 'which found the VM and adopted it'
    : 'whose PUT found the VM as it was'
  stage.say(
    color.green(`one VM; it was requested by the process before, and Joiner's second attempt, ${adopted}, went on`),
  )
  await reportLifecycle(cluster)
}

async function reportLifecycle(cluster: LocalCluster): Promise<void> {
  const settings = temporalSettings(cluster)
  const connection = await connectClient(settings)
  try {
    const client = temporalClient(connection, settings)
    for await (const { workflowId } of client.workflow.list({ query: runningLifecycles(clusterName) })) {
      console.log(`          ${color.dim(`history of ${workflowId}:`)}`)
      for (const line of await lifecycleLines(client, workflowId)) console.log(`          ${color.dim(line)}`)
    }
  } finally {
    await connection.close()
  }
}

/** Returns what a lifecycle did so far, a line for each activity that ended or waits, from its history: with attempts, and why one was repeated. */
async function lifecycleLines(client: Client, workflowId: string): Promise<readonly string[]> {
  const handle = client.workflow.getHandle(workflowId)
  const { events } = await handle.fetchHistory()
  const names = new Map<string, string>()
  const lines: string[] = []
  for (const event of events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes
    const started = event.activityTaskStartedEventAttributes
    if (scheduled) names.set(String(event.eventId), scheduled.activityType?.name ?? '')
    if (!started) continue
    const { attempt, lastFailure } = started
    const repeated =
      (attempt ?? 1) > 1 ? `, attempt ${attempt}; the one before: ${lastFailure?.message ?? 'no answer'}` : ''
    lines.push(`${timeOf(event.eventTime)}  ${names.get(String(started.scheduledEventId)) ?? ''}${repeated}`)
  }
  const { raw } = await handle.describe()
  const waiting = (raw.pendingActivities ?? []).map(({ activityType, attempt }) => {
    const again = (attempt ?? 1) > 1 ? `, attempt ${attempt}` : ''
    return `${' '.repeat(8)}  ${activityType?.name ?? ''}${again}, under way`
  })
  return [...lines, ...waiting]
}

function timeOf(time: { readonly seconds?: unknown } | null | undefined): string {
  return timeText(Number(time?.seconds ?? 0) * 1000).slice(11, 19)
}
