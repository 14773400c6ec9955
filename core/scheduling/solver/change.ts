import type { Pod } from '../../objects.ts'
import type { SchedulableNode, SchedulingSnapshot } from '../snapshot.ts'
import type { Gone } from '../topology/gone.ts'
import type { SolverBase } from './solver-base.ts'

/** Differences between a pass and the snapshot. */
export interface Change {
  readonly pods: readonly Pod[]
  /** Nodes of the snapshot that are no places. */
  readonly removed: readonly SchedulableNode[]
  readonly gone?: Gone | undefined
  readonly barred?: SchedulingSnapshot['barred'] | undefined
  readonly maxNewClaims?: number | undefined
}

/** Returns the change of a pass over the snapshot as it is. */
export function noChange({ snapshot, options }: SolverBase): Change {
  return { pods: snapshot.pods, removed: [], barred: snapshot.barred, maxNewClaims: options.maxNewClaims }
}
