import { bufferBounds } from './capacity-buffer.ts'
import type { Resolution } from './resolve-buffer.ts'

/** A buffer's share of the bounds is found by its namespace and its key. */
export interface BoundedBuffer {
  readonly key: string
  readonly namespace: string
  readonly resolution: Resolution
}

/**
 * Returns resolutions within the bounds, by the buffers' keys. Where all buffers together exceed them, namespaces get equal shares, and then the buffers
 * of each: what small ones leave goes to the others, so that no tenant's buffers crowd out another's.
 */
export function withinBounds(
  buffers: readonly BoundedBuffer[],
  { perBuffer, inAll }: { readonly perBuffer: number; readonly inAll: number } = bufferBounds,
): ReadonlyMap<string, Resolution> {
  const asks = (one: BoundedBuffer) =>
    Math.min(one.resolution.kind === 'resolved' ? one.resolution.replicas : 0, perBuffer)
  const groups = [...Map.groupBy(buffers, ({ namespace }) => namespace).values()]
  const ofGroups = evenShares(
    groups.map((group) => group.reduce((sum, one) => sum + asks(one), 0)),
    inAll,
  )
  const bounded = new Map<string, Resolution>()
  for (const [at, group] of groups.entries()) {
    const shares = evenShares(group.map(asks), ofGroups[at] as number)
    for (const [number, { key, resolution }] of group.entries())
      bounded.set(key, withAtMost(resolution, shares[number] as number))
  }
  return bounded
}

function withAtMost(resolution: Resolution, most: number): Resolution {
  if (resolution.kind === 'failed' || resolution.replicas <= most) return resolution
  return { ...resolution, replicas: most, wanted: resolution.replicas }
}

/** Divides whole units: none is more than was asked for, and what one leaves is divided among the others. */
function evenShares(asked: readonly number[], total: number): readonly number[] {
  const shares = asked.map(() => 0)
  let left = total
  const ascending = [...asked.keys()].sort((a, b) => (asked[a] as number) - (asked[b] as number))
  for (const [done, at] of ascending.entries()) {
    const share = Math.min(asked[at] as number, Math.floor(left / (ascending.length - done)))
    shares[at] = share
    left -= share
  }
  return shares
}
