import type { z } from 'zod'
import { anyOf, type Checked, list, numberFrom, oneOf, strictRecord, text } from '../../../../api/shapes/shape.ts'

/** A zone as ARM numbers it; quotes may be left out in YAML. */
const zone: z.ZodType<string> = anyOf('write a zone number such as 1, or 0 for regional', oneOf('0', '1', '2', '3'))

/** Which VMs something is about: all that is named must match. */
export const matchFields = { sku: text, zone, capacityType: oneOf('spot', 'on-demand') } as const

const allocationCodes = [
  'AllocationFailed',
  'ZonalAllocationFailed',
  'SkuNotAvailable',
  'OverconstrainedAllocationRequest',
  'OverconstrainedZonalAllocationRequest',
] as const

/** Room for VMs. VMs that match what is named draw from it; what is not named does not matter. */
export const capacityPool = strictRecord({
  ...matchFields,
  /** Family as quota names it. */
  family: text,
  /** How many VMs it holds. */
  vms: numberFrom(0),
  /** How many vCPUs it holds. */
  vCpus: numberFrom(0),
  /** What a VM that does not fit meets. Default: `async` with the code of its placement. */
  full: strictRecord({
    /** `sync`: the PUT is refused; `async`: it is accepted and the VM fails. */
    how: oneOf('sync', 'async'),
    /** Default: `ZonalAllocationFailed` in a zone, else `AllocationFailed`. */
    code: oneOf(...allocationCodes),
  }),
})

export type CapacityPool = Checked<typeof capacityPool>

/** Sizes that the subscription may not have, in some of the region's zones; without zones, in the whole region. */
export const restriction = strictRecord({ sku: text, family: text, zones: list(zone) })
