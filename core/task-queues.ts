/** The task queues of one cluster's Joiner (one Temporal namespace may serve many clusters). */
export type TaskQueueRole = 'core' | 'azure' | 'plan' | 'wait' | 'maintenance'

/** Returns `joiner-<role>-<cluster>`. A durable, public name: workflows in flight hold it. */
export function taskQueue(role: TaskQueueRole, cluster: string): string {
  return `joiner-${role}-${cluster}`
}

/** The NodeClaim of a lifecycle. Of the UID the first eight characters count: they tell NodeClaims apart that have one name after each other. */
export interface LifecycleClaim {
  readonly name: string
  readonly uid: string
}

/** Returns the id of a NodeClaim's lifecycle. The UID keeps a late poke from reviving a closed lifecycle under a reused name. */
export function lifecycleId(cluster: string, claim: LifecycleClaim): string {
  return `nodeclaim/${cluster}/${lifecycleKey(claim)}`
}

/** Returns what a lifecycle's id says of its NodeClaim: `NAME-XXXXXXXX`. */
export function lifecycleKey({ name, uid }: LifecycleClaim): string {
  return `${name}-${uid.slice(0, 8)}`
}

/** Returns what a lifecycle's id says; undefined for an id of another workflow, another cluster or another form. */
export function claimOfLifecycle(cluster: string, workflowId: string): LifecycleClaim | undefined {
  const [kind, of, key = '', ...rest] = workflowId.split('/')
  // A name may have dashes, the beginning of a UID has none.
  const dash = key.lastIndexOf('-')
  if (kind !== 'nodeclaim' || of !== cluster || rest.length > 0 || dash < 1 || dash === key.length - 1) return undefined
  return { name: key.slice(0, dash), uid: key.slice(dash + 1) }
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
