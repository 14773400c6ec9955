import type { AzureDeps } from '../azure/dependencies.ts'
import type { LifecycleStarter } from './lifecycle-starter.ts'
import type { Nominations } from './nominations.ts'

/** What the planning activities work with; made once per process. */
export interface PlanningDeps extends AzureDeps {
  readonly lifecycles: LifecycleStarter
  readonly nominations: Nominations
  /** A batch of pods is closed after this long without a new one, in milliseconds. */
  readonly batchIdleMs: number
  /** And at the latest after this long. */
  readonly batchMaxMs: number
}
