import type { CapacityPool, Restriction } from './capacity-pools.ts'
import type { Duration } from './durations.ts'
import type { ThrottlingSetting } from './throttling.ts'

/** How long Azure takes. */
export interface Timing {
  /** Time from an accepted PUT to a created VM. Default 0. */
  readonly createMs?: Duration
  /** Time from a created VM to its kubelet's first request. Default 0. */
  readonly bootMs?: Duration
  /** Time from an accepted PATCH to a VM that is updated. Default 0. */
  readonly updateMs?: Duration
  /** Time from an accepted DELETE to a VM that is gone. Default 0. */
  readonly deleteMs?: Duration
}

/** What may be set anew while the simulator runs: by its admin endpoint and by a scenario. What is given replaces what was. */
export interface LiveSettings extends Timing {
  /** Token buckets that requests draw from. Default `off`. */
  readonly throttling?: ThrottlingSetting
  /** Limits in vCPUs by the names of the usages API: `cores`, `lowPriorityCores` and families. Default: more than anybody needs. */
  readonly quotas?: Readonly<Record<string, number>>
  /** Room for VMs. Default: without end. */
  readonly pools?: readonly CapacityPool[]
  /** Sizes that the subscription may not have. Default: none. */
  readonly restrictions?: readonly Restriction[]
}
