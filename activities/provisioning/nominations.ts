import { hasPassed } from '../../core/values/time.ts'

/** Shortest time that a nomination holds (reference/karpenter-core.md 3.14). */
const shortestMs = 10_000

const noPods: ReadonlySet<string> = new Set()

interface Nomination {
  /** Name of the Node or NodeClaim. */
  readonly target: string
  /** When it was first planned there, and when last. */
  readonly sinceMs: number
  readonly atMs: number
}

/**
 * Records which pending pod was planned onto which node. Kept in memory: after a restart the next pass finds the same room again.
 * A nominated node is not disrupted.
 */
export class Nominations {
  readonly #byPod = new Map<string, Nomination>()
  readonly #byTarget = new Map<string, Set<string>>()
  readonly #lifetimeMs: number
  /** Cached result of `targets`, which is called for each of many pods. */
  #targets: { readonly names: ReadonlySet<string>; readonly sinceMs: number; readonly lastMs: number } | undefined

  /** A nomination holds for twice the longest batch window. */
  constructor(batchMaxMs: number) {
    this.#lifetimeMs = Math.max(2 * batchMaxMs, shortestMs)
  }

  nominate(podUid: string, target: string, now: number): void {
    const before = this.#byPod.get(podUid)
    const sinceMs = before?.target === target ? Math.min(before.sinceMs, now) : now
    this.forget(podUid)
    this.#byPod.set(podUid, { target, sinceMs, atMs: now })
    const pods = this.#byTarget.get(target) ?? new Set()
    this.#byTarget.set(target, pods.add(podUid))
  }

  /** Returns the name of the Node or NodeClaim that a pod was last planned onto. */
  targetOf(podUid: string): string | undefined {
    return this.#byPod.get(podUid)?.target
  }

  /** Returns when a pod was last planned onto a Node or NodeClaim, in epoch ms. */
  plannedAt(podUid: string): number | undefined {
    return this.#byPod.get(podUid)?.atMs
  }

  /** Returns since when a pod is planned onto the same Node or NodeClaim, in epoch ms. */
  plannedSince(podUid: string): number | undefined {
    return this.#byPod.get(podUid)?.sinceMs
  }

  forget(podUid: string): void {
    this.#targets = undefined
    const { target = '' } = this.#byPod.get(podUid) ?? {}
    this.#byPod.delete(podUid)
    const pods = this.#byTarget.get(target)
    pods?.delete(podUid)
    if (pods?.size === 0) this.#byTarget.delete(target)
  }

  /** Returns the UIDs of the pods that were last planned onto a Node or NodeClaim. */
  podsOf(target: string): ReadonlySet<string> {
    return this.#byTarget.get(target) ?? noPods
  }

  /** Returns the names of nodes and claims that pods are about to land on. */
  targets(now: number): ReadonlySet<string> {
    if (this.#targets === undefined || hasPassed(this.#targets.lastMs, this.#targets.sinceMs, now)) {
      const current = [...this.#byPod.values()].filter(({ atMs }) => !hasPassed(this.#lifetimeMs, atMs, now))
      const firstMs = current.reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY)
      const names = new Set(current.map(({ target }) => target))
      this.#targets = { names, sinceMs: now, lastMs: firstMs + this.#lifetimeMs - now }
    }
    return this.#targets.names
  }

  /** Forgets pods that are no longer pending. */
  keepOnly(podUids: ReadonlySet<string>): void {
    for (const uid of this.#byPod.keys()) if (!podUids.has(uid)) this.forget(uid)
  }
}
