import type { BufferRoom } from '../capacity-buffers/buffer-room.ts'
import type { Parts } from '../kubernetes/parts.ts'
import type { HeavyPods } from '../scheduler-thread/heavy-pods.ts'
import type { Quarantine } from '../scheduler-thread/quarantine.ts'
import type { SolverThread } from '../scheduler-thread/solver-thread.ts'
import type { PlanningMetrics } from './metrics.ts'
import type { Nominations } from './nominations.ts'
import type { RefusedClaims } from './refused-claims.ts'

/** What a planner works with. */
export interface PlannerParts extends Parts {
  readonly solver: SolverThread
  /** A second scheduler, so that a long evaluation keeps no pod waiting. */
  readonly evaluator: SolverThread
  readonly buffers: BufferRoom
  readonly nominations: Nominations
  readonly refusedClaims: RefusedClaims
  readonly heavyPods: HeavyPods
  readonly quarantine: Quarantine
  readonly metrics: PlanningMetrics
}
