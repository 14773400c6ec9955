import type { Match } from '../admin/faults.ts'

/** Room for VMs. VMs that match what is named draw from it; what is not named does not matter. */
export interface CapacityPool extends Match {
  /** Family as quota names it. */
  readonly family?: string
  /** How many VMs it holds. */
  readonly vms?: number
  /** How many vCPUs it holds. */
  readonly vCpus?: number
  /** What a VM that does not fit meets. Default: `async` with the code of its placement. */
  readonly full?: {
    /** `sync`: the PUT is refused; `async`: it is accepted and the VM fails. */
    readonly how?: 'sync' | 'async'
    /** Default: `ZonalAllocationFailed` in a zone, else `AllocationFailed`. */
    readonly code?: AllocationCode
  }
}

/** Sizes that the subscription may not have, in the region or in some of its zones. */
export interface Restriction {
  readonly sku?: string
  readonly family?: string
  /** ARM zone numbers; absent: the whole region. */
  readonly zones?: readonly string[]
}

export const allocationCodes = [
  'AllocationFailed',
  'ZonalAllocationFailed',
  'SkuNotAvailable',
  'OverconstrainedAllocationRequest',
  'OverconstrainedZonalAllocationRequest',
] as const

type AllocationCode = (typeof allocationCodes)[number]
