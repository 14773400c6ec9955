// Queries for Temporal's list of workflows. They use as few search attributes as they can, since others than Joiner's are Temporal's own.
import { lifecycleId, taskQueue } from './task-queues.ts'

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

/** Workflows of one cluster. */
export function onQueueOf(cluster: string): string {
  return `TaskQueue = ${quoted(taskQueue('core', cluster))}`
}

/** Workflows of one cluster that run. */
export function runningOf(cluster: string): string {
  return `ExecutionStatus = 'Running' AND ${onQueueOf(cluster)}`
}

/** Lifecycles that run. */
export function runningLifecycles(cluster: string): string {
  return `WorkflowType = 'nodeClaimLifecycle' AND ${runningOf(cluster)}`
}

/** Lifecycles that run and whose node is not at rest, as they have said themselves. */
export function busyLifecycles(cluster: string): string {
  return `${runningLifecycles(cluster)} AND NodePhase != 'Ready'`
}

/** What runs beside lifecycles. */
export function runningOthers(cluster: string): string {
  return `WorkflowType != 'nodeClaimLifecycle' AND ${runningOf(cluster)}`
}

/** Disruption commands that run. */
export function runningCommands(cluster: string): string {
  return `WorkflowType = 'disruptionCommand' AND ${runningOf(cluster)}`
}

/** A condition for the lifecycle of the Node or NodeClaim of a name. Lifecycles of NodeClaims whose name goes on after it, with a dash, match too. */
export function ofNodeOrClaim(cluster: string, name: string): string {
  const prefix = lifecycleId(cluster, { name, uid: '' })
  return `(NodeName = ${quoted(name)} OR WorkflowId STARTS_WITH ${quoted(prefix)})`
}

/** Lifecycles and disruption commands that run, or that closed since then. */
export function endedSince(cluster: string, sinceMs: number): string {
  const since = new Date(sinceMs).toISOString()
  const types = "(WorkflowType = 'nodeClaimLifecycle' OR WorkflowType = 'disruptionCommand')"
  return `${types} AND ${onQueueOf(cluster)} AND (ExecutionStatus = 'Running' OR CloseTime >= '${since}')`
}

/** What an operator looks at: nodes, commands and the two loops, without maintenance, which a Schedule starts. */
export function withoutSweeps(cluster: string): string {
  const types = ['nodeClaimLifecycle', 'disruptionCommand', 'disruptionPass', 'provisioningLoop', 'disruptionLoop'].map(
    quoted,
  )
  return `${onQueueOf(cluster)} AND WorkflowType IN (${types.join(', ')})`
}
