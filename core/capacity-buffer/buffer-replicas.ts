import { specRequests } from '../pods/pod-requests.ts'
import { quantityMilliValue } from '../values/quantity.ts'
import { entryOf } from '../values/records.ts'
import type { CapacityBuffer, FoundTemplate } from './capacity-buffer.ts'

/**
 * Returns how many pods a buffer keeps room for: the larger of its replicas and its percentage of the workload, as far as its limits go; the limits
 * alone where neither is given (reference/karpenter-core.md 3.15).
 */
export function bufferReplicas(buffer: CapacityBuffer, found: FoundTemplate): number {
  const { replicas } = buffer
  const share = shareOf(buffer, found)
  const wanted = [replicas, share].filter((count) => count !== undefined)
  const most = mostWithin(buffer, found)
  if (wanted.length === 0) return most ?? 0
  return Math.min(Math.max(...wanted), most ?? Number.POSITIVE_INFINITY)
}

/** A percentage above zero asks for one pod at least. A workload without replicas asks for none. */
function shareOf({ percentage }: CapacityBuffer, { replicas = 0 }: FoundTemplate): number | undefined {
  if (percentage === undefined || replicas === 0) return undefined
  return percentage === 0 ? 0 : Math.max(1, Math.ceil((percentage * replicas) / 100))
}

/** Undefined: no limit is of a resource that the pods request. */
function mostWithin({ limits }: CapacityBuffer, { template }: FoundTemplate): number | undefined {
  const requests = specRequests(template)
  const counts = Object.entries(limits).flatMap(([name, limit]) => {
    const request = entryOf(requests, name)
    if (request === undefined || request.nano <= 0n) return []
    return [Number(quantityMilliValue(limit) / quantityMilliValue(request))]
  })
  return counts.length === 0 ? undefined : Math.max(0, Math.min(...counts))
}
