import { entryOf } from '../../values/records.ts'
import { allBits, type Bits, keep } from '../offerings/bits.ts'
import type { ClaimPlace, NodePlace, Place } from './places.ts'
import type { Waiting } from './waiting-pods.ts'

/** Returns the claim's types that can attach its volumes and the pod's. */
export function attachable(claim: ClaimPlace, one: Waiting): Bits | undefined {
  const drivers = Object.keys(one.volumes?.byDriver ?? {})
  if (drivers.length === 0) return claim.types
  const types = allBits(claim.pool.index.types.length)
  claim.pool.index.types.forEach(({ volumeAttachmentLimits = {} }, type) => {
    for (const driver of new Set([...drivers, ...claim.volumes.keys()])) {
      const limit = entryOf(volumeAttachmentLimits, driver)
      if (limit !== undefined && volumeCount(claim, one, driver) > limit)
        types[type >>> 5] = (types[type >>> 5] as number) & ~(1 << (type & 31))
    }
  })
  return keep(types, claim.types) ? types : undefined
}

/** Whether a node could not attach the pod's volumes beside its own. */
export function exceedsLimits(place: NodePlace, one: Waiting): boolean {
  const limits = place.node.volumeLimits
  if (limits === undefined || one.volumes === undefined) return false
  return Object.keys(one.volumes.byDriver).some((driver) => {
    const limit = entryOf(limits, driver)
    return limit !== undefined && volumeCount(place, one, driver) > limit
  })
}

function volumeCount(place: Place, one: Waiting, driver: string): number {
  const used = place.volumes.get(driver)
  const added = new Set(entryOf(one.volumes?.byDriver, driver) ?? [])
  let count = used?.size ?? 0
  for (const id of added) if (used?.has(id) !== true) count += 1
  return count
}

/** Adds the pod's volumes to its place. */
export function attach(place: Place, one: Waiting): void {
  for (const [driver, ids] of Object.entries(one.volumes?.byDriver ?? {})) {
    const used = place.volumes.get(driver) ?? new Set()
    for (const id of ids) used.add(id)
    place.volumes.set(driver, used)
  }
}
