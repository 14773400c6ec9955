import type { Attempt } from '../admin/faults.ts'
import type { CapacityGroups } from '../reservations/capacity-groups.ts'
import { ArmError } from '../server/arm-error.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { AsyncFailure } from '../virtual-machines/machine.ts'
import type { VmUsage } from '../virtual-machines/vm-usage.ts'
import type { CapacityPool } from './capacity-settings.ts'
import type { SkuCatalogue, VmSize } from './sku-catalogue.ts'
import type { SkuRestriction } from './sku-json.ts'

interface PoolDeps {
  readonly config: Pick<SimulatorConfig, 'pools' | 'restrictions' | 'location'>
  readonly catalogue: SkuCatalogue
  readonly usage: VmUsage
  readonly capacityGroups: Pick<CapacityGroups, 'unused'>
}

/** What hardware there is: for whom sizes are not sold, and how many VMs fit. */
export class CapacityPools {
  readonly #deps: PoolDeps

  constructor(deps: PoolDeps) {
    this.#deps = deps
  }

  /** Whether there is room. Errors: the PUT is refused at once. The result: the VM is accepted and fails so. */
  admit(attempt: Attempt, size: VmSize): AsyncFailure | undefined {
    const { location } = this.#deps.config
    if (!isSold(attempt, size) || this.#isRestricted(attempt, size))
      throw new ArmError(409, 'SkuNotAvailable', allocationMessage('SkuNotAvailable', size.name, location))
    const pool = (this.#deps.config.pools ?? []).find(
      (one) => drawsFrom(one, attempt, size) && !this.#hasRoom(one, size),
    )
    if (pool === undefined) return undefined
    const code = pool.full?.code ?? (attempt.zone === '0' ? 'AllocationFailed' : 'ZonalAllocationFailed')
    const message = allocationMessage(code, size.name, location)
    if (pool.full?.how === 'sync') throw new ArmError(409, code, message)
    return { code, message }
  }

  /** Restrictions of a size as the SKUs API lists them. */
  restrictionsOf(size: VmSize): readonly SkuRestriction[] {
    const { restrictions = [], location } = this.#deps.config
    return restrictions
      .filter((one) => isOf(one, size))
      .map(({ zones }) => ({
        type: zones === undefined ? 'Location' : 'Zone',
        values: [location],
        restrictionInfo: { locations: [location], ...(zones === undefined ? {} : { zones }) },
        reasonCode: 'NotAvailableForSubscription',
      }))
  }

  #isRestricted({ zone }: Attempt, size: VmSize): boolean {
    return (this.#deps.config.restrictions ?? []).some(
      (one) => isOf(one, size) && (one.zones === undefined || one.zones.includes(zone)),
    )
  }

  #hasRoom(pool: CapacityPool, size: VmSize): boolean {
    let [vms, vCpus] = [1, size.vCpus]
    for (const entry of this.#deps.usage.entries) {
      const other = this.#deps.catalogue.size(entry.sku)
      if (other === undefined || !drawsFrom(pool, entry, other)) continue
      vms += entry.placed
      vCpus += entry.placed * other.vCpus
    }
    for (const kept of this.#deps.capacityGroups.unused) {
      const other = this.#deps.catalogue.size(kept.sku)
      if (other === undefined || !drawsFrom(pool, kept, other)) continue
      vms += kept.free
      vCpus += kept.free * other.vCpus
    }
    return vms <= (pool.vms ?? Number.POSITIVE_INFINITY) && vCpus <= (pool.vCpus ?? Number.POSITIVE_INFINITY)
  }
}

function drawsFrom(pool: CapacityPool, attempt: Attempt, size: VmSize): boolean {
  return (
    isOf(pool, size) &&
    (pool.zone === undefined || pool.zone === attempt.zone) &&
    (pool.capacityType === undefined || pool.capacityType === attempt.capacityType)
  )
}

function isOf({ sku, family }: Pick<CapacityPool, 'sku' | 'family'>, size: VmSize): boolean {
  return (
    (sku === undefined || sku.toLowerCase() === size.name.toLowerCase()) &&
    (family === undefined || family.toLowerCase() === size.family.toLowerCase())
  )
}

function isSold({ zone, capacityType }: Attempt, size: VmSize): boolean {
  if (size.restricted === 'everywhere' || size.restricted.includes(zone)) return false
  return (zone === '0' || size.zones.includes(zone)) && (capacityType === 'on-demand' || size.hasSpot)
}

/** Azure's words for the refusals that are about capacity. */
export function allocationMessage(code: string, sku: string, location: string): string {
  const guidance = 'Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance'
  switch (code) {
    case 'SkuNotAvailable':
      return `The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: ${sku}' is currently not available in location '${location}'. Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.`
    case 'ZonalAllocationFailed':
      return `Allocation failed. We do not have sufficient capacity for the requested VM size in this zone. ${guidance}`
    case 'AllocationFailed':
      return `Allocation failed. We do not have sufficient capacity for the requested VM size in this region. ${guidance}`
    case 'OverconstrainedAllocationRequest':
    case 'OverconstrainedZonalAllocationRequest':
      return 'Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too restrictive. Please remove some constraints and try again.'
    default:
      return `Allocation failed: ${code}`
  }
}
