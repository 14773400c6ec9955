import { isTrue } from '../../../core/conditions.ts'
import { isDeleting, type NodeClaim, type NodePool } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import { perCache } from '../../kubernetes/cache/per-cache.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { BackOff } from '../back-off.ts'
import { poolState } from '../refused-claims.ts'

/**
 * Static NodePools whose NodeClaims failed just now: they wait from 10 s to 5 minutes, until a claim registers or the NodePool or its class is edited.
 * Without it a pool whose launches fail would be filled again at once, each time. Times are epoch ms. Lost with the process, which costs one attempt.
 */
class StaticMemory {
  readonly #cache: ClusterCache
  readonly #now: () => number
  readonly #backOff = new BackOff()
  /** States of pools that are at their limit, as it was logged. */
  readonly #atLimit = new Map<string, string>()
  /** Whether pods are looked at before more NodeClaims of static pools are created. */
  isTurnOfPods = false

  constructor(cache: ClusterCache, now: () => number) {
    this.#cache = cache
    this.#now = now
    cache.onChange(({ kind, before, after }) => {
      if (kind === 'NodeClaim') this.#learn(before as NodeClaim | undefined, after as NodeClaim | undefined)
    })
  }

  failed({ metadata }: NodePool): void {
    this.#backOff.failed(poolState(this.#cache, metadata.name), this.#now())
  }

  isResting({ metadata }: NodePool): boolean {
    return this.#backOff.isResting(poolState(this.#cache, metadata.name), this.#now())
  }

  /** Returns when the first of the waits ends. */
  restUntil(): number {
    return this.#backOff.nextEnd(this.#now())
  }

  /** Records that a pool is at its limit. Returns whether that is news. */
  isNewlyAtLimit({ metadata: { name } }: NodePool): boolean {
    const state = poolState(this.#cache, name)
    if (this.#atLimit.get(name) === state) return false
    this.#atLimit.set(name, state)
    return true
  }

  /** Learns of claims that ended before their Node registered, and of those that registered. */
  #learn(before: NodeClaim | undefined, after: NodeClaim | undefined): void {
    const claim = after ?? before
    const pool = this.#cache.nodePools.get(claim?.metadata.labels[labels.nodePool] ?? '')
    if (claim === undefined || before === undefined || pool?.isStatic !== true || isDeleting(before)) return
    const [was, is] = [before, claim].map(({ status }) => isTrue(status.conditions, 'Registered'))
    if (is === true && was !== true) this.#backOff.succeeded(poolState(this.#cache, pool.metadata.name))
    const hasEnded = after === undefined || isDeleting(after)
    if (hasEnded && is !== true && claim.metadata.annotations[annotations.scaledDownTo] === undefined) this.failed(pool)
  }
}

/** Returns the memory of the process with this cache. */
export const staticMemoryOf = perCache(({ cache, now }: Pick<Parts, 'cache' | 'now'>) => new StaticMemory(cache, now))
