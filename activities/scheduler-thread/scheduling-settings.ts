import type { SchedulingOptions } from '../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/topology/spread-defaults.ts'

/** Settings of scheduling, as the process was configured. */
export interface SchedulingSettings
  extends Required<Pick<SchedulingOptions, 'preferencePolicy' | 'minValuesPolicy' | 'reservedCapacity'>> {
  /** For pods without spread constraints. The cache watches what these constraints need, if there are any. */
  readonly defaultSpread: readonly DefaultSpreadConstraint[]
}
