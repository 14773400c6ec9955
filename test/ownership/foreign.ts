import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { stringify } from 'yaml'
import { type TaskQueueRole, taskQueue } from '../../core/task-queues.ts'
import { azureIds, clusterName } from '../../deploy/local/cluster.ts'
import type { Seen, World } from '../world.ts'

export const groupId = (name: string) => `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${name}`
export const ownGroup = groupId(azureIds.nodeResourceGroup.toLowerCase())
export const idOf = (vm: string) => `azure://${ownGroup}/providers/Microsoft.Compute/virtualMachines/${vm}`

/** Tags of a VM that Joiner made for a claim that is gone; `changes` of undefined take a tag away. */
export function tags(
  clusterUid: string,
  changes: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> {
  const all = {
    'karpenter.azure.com_cluster': clusterName,
    'joiner.sh_cluster-uid': clusterUid,
    'karpenter.sh_nodepool': 'general',
    'joiner.sh_nodeclaim-uid': randomUUID(),
    ...changes,
  }
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

export const conditionOf = (object: Seen | undefined, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type)

/** A Node as somebody may make one, with a taint against pods. */
export const node = (name: string, providerID?: string, labels: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels, annotations: { 'kwok.x-k8s.io/node': 'fake' } },
  spec: { ...(providerID === undefined ? {} : { providerID }), taints: [{ key: 'posing', effect: 'NoSchedule' }] },
})

/** Returns kubectl as the kubelet of a node, whose rights the Node authorizer and NodeRestriction decide. In virtual time everybody may do everything. */
export const asNode =
  ({ operator }: Pick<World, 'operator'>, name: string) =>
  (args: readonly string[], input?: unknown) =>
    operator.kubectl(
      [...args, `--as=system:node:${name}`, '--as-group=system:nodes', '--as-group=system:authenticated'],
      input === undefined ? undefined : stringify(input),
    )

/** What Joiner's doctor says about instances with other settings. */
export async function instancesCheck(world: World, settings: Readonly<Record<string, string>>) {
  const { command, args, cwd, env } = world.installation.commandSpec(['doctor', '--output', 'json'], settings)
  const stdout = await new Promise<string>((resolve) => {
    execFile(command, args, { cwd, env: { PATH: process.env['PATH'], ...env } }, (_, out) => resolve(out))
  })
  const { checks } = JSON.parse(stdout) as {
    readonly checks: readonly {
      readonly name: string
      readonly status: string
      readonly summary: string
      readonly remedies: readonly string[]
    }[]
  }
  return checks.find(({ name }) => name === 'instances')
}

/** How many requests the simulator has refused because of a fault. */
export async function refusals(world: World): Promise<number> {
  const { failSync = 0 } = await world.operator.simulator<{ readonly failSync?: number }>('GET', '/faults/hits')
  return failSync
}

/** Schedules an activity as any client of the Temporal namespace can. Waits for its end; whether it failed is of no interest. */
export async function scheduleActivity(
  world: World,
  [type, role, input]: readonly [type: string, role: TaskQueueRole, input: unknown],
): Promise<void> {
  const options = { taskQueue: taskQueue(role, clusterName), args: [input], retry: { maximumAttempts: 1 } }
  await world.temporal.activity
    .execute(type, { ...options, id: `forged-${type}`, startToCloseTimeout: '30s', heartbeatTimeout: '10s' })
    .catch(() => {})
  const { status } = await world.temporal.activity.getHandle(`forged-${type}`).describe()
  expect(['COMPLETED', 'FAILED']).toContain(status)
}
