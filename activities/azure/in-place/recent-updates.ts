import { hasPassed } from '../../../core/values/time.ts'

/** How long after an update a request that an earlier process had sent may still take effect: less than the time between two passes. */
const lateMs = 4 * 60_000

interface Update {
  readonly atMs: number
  /** Names of the tags that Joiner had set before. */
  readonly names: readonly string[]
}

/**
 * NodeClaims whose VMs were brought up to date a moment ago. Each is looked at once more: an earlier process may have sent a request that takes effect
 * after this one's, and its tags would stay for good. In memory only.
 */
export class RecentUpdates {
  readonly #updates = new Map<string, Update>()

  /** Records an update. What an earlier one removed may come back as well. */
  note(uid: string, names: readonly string[], atMs: number): void {
    this.#updates.set(uid, { atMs, names: [...new Set([...this.namesOf(uid), ...names])] })
  }

  namesOf(uid: string): readonly string[] {
    return this.#updates.get(uid)?.names ?? []
  }

  /** Whether an update is so long ago that nothing sent before it comes any more. */
  isOver(uid: string, now: number): boolean {
    const update = this.#updates.get(uid)
    return update !== undefined && hasPassed(lateMs, update.atMs, now)
  }

  forget(uid: string): void {
    this.#updates.delete(uid)
  }

  /** Forgets NodeClaims that are gone. */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#updates.keys()) if (!uids.has(uid)) this.#updates.delete(uid)
  }
}
