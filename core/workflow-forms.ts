import { claimOfLifecycle, disruptionCommandId, maintenanceScheduleId, singletonIds } from './task-queues.ts'

/** A run as Temporal's list names it. */
export interface NamedRun {
  readonly workflowId: string
  readonly type: string
}

/**
 * Returns whether this version gives a run of its cluster such an id and such a type. Whatever else runs on the task queue `core` was begun by a version
 * with another form: it is ended, and started again from the objects (docs/workflow-versions.md).
 */
export function isOfThisForm(cluster: string, { workflowId, type }: NamedRun): boolean {
  switch (type) {
    case 'nodeClaimLifecycle':
      return claimOfLifecycle(cluster, workflowId) !== undefined
    case 'provisioningLoop':
    case 'disruptionLoop':
      return workflowId === singletonIds[type](cluster)
    case 'disruptionCommand':
    case 'disruptionPass':
      return workflowId.startsWith(disruptionCommandId(cluster, ''))
    case 'maintenance':
      // Temporal appends the time to the id that the Schedule gives.
      return workflowId.startsWith(`${maintenanceScheduleId(cluster)}-`)
    default:
      return false
  }
}
