/** The task queues of one cluster's Joiner (one Temporal namespace may serve many clusters). */
export type TaskQueueRole = 'core' | 'azure' | 'plan' | 'wait'

/** `joiner-<role>-<cluster>`. A durable, public name: workflows in flight hold it. */
export function taskQueue(role: TaskQueueRole, cluster: string): string {
  return `joiner-${role}-${cluster}`
}

/** Id of the lifecycle of one NodeClaim. The UID keeps a late poke from reviving a finished life under a reused name. */
export function lifecycleId(cluster: string, claim: { readonly name: string; readonly uid: string }): string {
  return `nodeclaim/${cluster}/${claim.name}/${claim.uid}`
}

/** The name of the NodeClaim that a workflow is the lifecycle of. Undefined: it is none. */
export function claimOfLifecycle(workflowId: string): string | undefined {
  const [kind, , name] = workflowId.split('/')
  return kind === 'nodeclaim' ? name : undefined
}

/** Ids of the workflows of which a cluster has one each. */
export const singletonIds = {
  provisioningLoop: (cluster: string) => `provisioning/${cluster}`,
  disruptionLoop: (cluster: string) => `disruption/${cluster}`,
  nodeClassStatus: (cluster: string) => `nodeclassstatus/${cluster}`,
  inPlaceUpdates: (cluster: string) => `inplaceupdates/${cluster}`,
} as const

/** Id of one disruption command. */
export function disruptionCommandId(cluster: string, commandId: string): string {
  return `disrupt/${cluster}/${commandId}`
}
