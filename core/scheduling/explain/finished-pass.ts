import type { Amounts } from '../offerings/amounts.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSets } from '../offerings/requirement-sets.ts'
import type { Reservations } from '../reservations.ts'
import type { SchedulingOptions } from '../snapshot.ts'
import type { LevelSource } from '../solver/pod-shapes.ts'
import type { TopologyIndex } from '../topology/topology-index.ts'

/** A finished pass, as explanations use it. */
export interface FinishedPass {
  readonly options: Pick<SchedulingOptions, 'preferencePolicy' | 'minValuesPolicy'>
  readonly wellKnown: ReadonlySet<string>
  readonly sets: RequirementSets
  readonly amounts: Amounts
  /** In the order in which they are tried, with what their limits leave. */
  readonly pools: readonly PoolIndex[]
  readonly topology: Pick<TopologyIndex, 'concerning' | 'host'>
  readonly reservations: Pick<Reservations, 'ask'> | undefined
  /** Makes the levels of a shape: its pods with fewer and fewer preferences. */
  readonly levels: LevelSource
}
