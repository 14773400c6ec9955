/** The task queues of one cluster's Joiner (one Temporal namespace may serve many clusters). */
export type TaskQueueRole = 'core' | 'azure' | 'plan' | 'wait' | 'maintenance'

/** Returns `joiner-<role>-<cluster>`. A durable, public name: workflows in flight hold it. */
export function taskQueue(role: TaskQueueRole, cluster: string): string {
  return `joiner-${role}-${cluster}`
}

/** Returns the id of a NodeClaim's lifecycle. The UID keeps a late poke from reviving a closed lifecycle under a reused name. */
export function lifecycleId(cluster: string, claim: { readonly name: string; readonly uid: string }): string {
  return `nodeclaim/${cluster}/${claim.name}/${claim.uid}`
}

/** Returns the name of a lifecycle's NodeClaim; undefined for other workflows. */
export function claimOfLifecycle(workflowId: string): string | undefined {
  const [kind, , name] = workflowId.split('/')
  return kind === 'nodeclaim' ? name : undefined
}

/** Ids of the workflows that a cluster has once each. */
export const singletonIds = {
  provisioningLoop: (cluster: string) => `provisioning/${cluster}`,
  disruptionLoop: (cluster: string) => `disruption/${cluster}`,
} as const

/**
 * Returns the id of the workflow of a disruption command. Without the last part of the command's id, which each start has its own: so of the commands with
 * the same method and the same nodes one runs at a time.
 */
export function disruptionCommandId(cluster: string, commandId: string): string {
  return `disrupt/${cluster}/${commandId.replace(/(-[0-9a-f]{10})-[0-9a-f]{8}$/, '$1')}`
}

/** Returns the id of a disruption pass that an operator asked for. `suffix`: eight hexadecimal digits. */
export function disruptionPassId(cluster: string, suffix: string): string {
  return `disrupt/${cluster}/asked-${suffix}`
}

/** Returns the id of the Schedule that has a cluster maintained. */
export function maintenanceScheduleId(cluster: string): string {
  return `maintenance/${cluster}`
}
