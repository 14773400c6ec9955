import color from 'picocolors'
import { runningLifecycles } from '../../../core/workflow-queries.ts'
import { connectClient, temporalClient } from '../../../starter/temporal/connect.ts'
import { clusterName } from '../cluster.ts'
import type { Installation } from '../installation.ts'
import type { LocalCluster } from '../local-cluster.ts'
import { temporalSettings } from '../temporal.ts'
import { lifecycleLines } from './lifecycle-history.ts'
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
