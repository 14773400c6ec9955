import type { SchedulingOptions } from '../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/topology/spread-defaults.ts'
import type { AzureDeps } from '../azure/dependencies.ts'
import type { VerdictRecorder } from '../disruption/verdicts.ts'
import type { LifecycleStarter } from '../provisioning/lifecycle-starter.ts'
import type { PlanningMetrics } from '../provisioning/metrics.ts'
import type { Nominations } from '../provisioning/nominations.ts'
import type { RefusedClaims } from '../provisioning/refused-claims.ts'
import type { HeavyPods } from '../scheduler-thread/heavy-pods.ts'
import type { Quarantine } from '../scheduler-thread/quarantine.ts'
import type { SolverThread } from '../scheduler-thread/solver-thread.ts'

/** How pods are placed, as the process was told. */
interface SchedulingSettings
  extends Required<Pick<SchedulingOptions, 'preferencePolicy' | 'minValuesPolicy' | 'reservedCapacity'>> {
  /** For pods that state no spread constraint; the cache watches what they need if there are any. */
  readonly defaultSpread: readonly DefaultSpreadConstraint[]
}

/** What the planning activities work with; made once per process. */
export interface PlanningDeps extends AzureDeps {
  readonly lifecycles: LifecycleStarter
  readonly nominations: Nominations
  /** Pods whose NodeClaims the API server refused. */
  readonly refusedClaims: RefusedClaims
  /** Pods with many constraints that found no place. */
  readonly heavyPods: HeavyPods
  /** Objects that crashed passes. */
  readonly quarantine: Quarantine
  readonly metrics: PlanningMetrics
  /** What the last evaluation found about each node. */
  readonly verdicts: VerdictRecorder
  /** The scheduler. */
  readonly solver: SolverThread
  readonly scheduling: SchedulingSettings
  /** The scheduler a second time, for disruption: a long evaluation keeps no pod waiting. */
  readonly evaluator: SolverThread
  /** Whether single spot nodes are replaced by cheaper spot nodes (feature gate SpotToSpotConsolidation). */
  readonly spotToSpotConsolidation: boolean
  /** A batch of pods is closed after this long without a new one, in milliseconds. */
  readonly batchIdleMs: number
  /** And at the latest after this long. */
  readonly batchMaxMs: number
}
