import type { SchedulingOptions } from '../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/topology/spread-defaults.ts'

/** How pods are placed, as the process was reported. */
export interface SchedulingSettings
  extends Required<Pick<SchedulingOptions, 'preferencePolicy' | 'minValuesPolicy' | 'reservedCapacity'>> {
  /** For pods that state no spread constraint; the cache watches what they need if there are any. */
  readonly defaultSpread: readonly DefaultSpreadConstraint[]
}
