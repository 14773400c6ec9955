/** A pod is counted on by its node for at least so long (reference/karpenter-core.md 3.14). */
const shortestMs = 10_000

interface Nomination {
  /** Name of the Node or NodeClaim. */
  readonly target: string
  readonly untilMs: number
}

/**
 * Which pending pod was planned onto which node. Kept in memory: after a restart the next pass finds the same room again.
 * A nominated node is not disrupted.
 */
export class Nominations {
  readonly #byPod = new Map<string, Nomination>()
  readonly #lifetimeMs: number

  /** A nomination holds for twice the longest batch window. */
  constructor(batchMaxMs: number) {
    this.#lifetimeMs = Math.max(2 * batchMaxMs, shortestMs)
  }

  nominate(podUid: string, target: string, now: number): void {
    this.#byPod.set(podUid, { target, untilMs: now + this.#lifetimeMs })
  }

  /** Name of the Node or NodeClaim that a pod was planned onto last. */
  targetOf(podUid: string): string | undefined {
    return this.#byPod.get(podUid)?.target
  }

  /** Names of nodes and claims that pods are about to land on. */
  targets(now: number): ReadonlySet<string> {
    return new Set([...this.#byPod.values()].filter(({ untilMs }) => untilMs > now).map(({ target }) => target))
  }

  /** Forgets pods that are no longer pending. */
  keepOnly(podUids: ReadonlySet<string>): void {
    for (const uid of this.#byPod.keys()) if (!podUids.has(uid)) this.#byPod.delete(uid)
  }
}
