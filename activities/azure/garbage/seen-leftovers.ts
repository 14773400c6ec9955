import type { FoundPart, GarbageSuspects } from '../../../core/garbage.ts'
import type { GarbageKind } from './garbage-metrics.ts'

/**
 * Azure deletes NICs and disks a little after the VM that takes them along, and NICs do not say when they were made: so a NIC or disk must
 * have been seen without an owner by an earlier pass, this long ago at least.
 */
const seenForMs = 10_000

/** NICs and disks without an owner, over several passes. */
export class SeenLeftovers {
  /** When each was first seen without an owner, by kind and name. */
  readonly #seen = new Map<string, number>()

  /** Returns NICs and disks that an earlier pass has seen without an owner as well. */
  seenTwice(
    { networkInterfaces, disks }: GarbageSuspects,
    now: number,
  ): Pick<GarbageSuspects, 'networkInterfaces' | 'disks'> {
    const key = (kind: GarbageKind, { name }: FoundPart) => `${kind}/${name}`
    const present = new Set([
      ...networkInterfaces.map((nic) => key('networkInterface', nic)),
      ...disks.map((disk) => key('disk', disk)),
    ])
    for (const one of this.#seen.keys()) if (!present.has(one)) this.#seen.delete(one)
    for (const one of present) if (!this.#seen.has(one)) this.#seen.set(one, now)
    const isOld = (kind: GarbageKind) => (part: FoundPart) =>
      now - (this.#seen.get(key(kind, part)) ?? now) >= seenForMs
    return {
      networkInterfaces: networkInterfaces.filter(isOld('networkInterface')),
      disks: disks.filter(isOld('disk')),
    }
  }
}
