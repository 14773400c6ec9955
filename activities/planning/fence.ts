import type { KubernetesClient } from '../kubernetes/client.ts'
import { Lease } from '../kubernetes/lease.ts'

/** After this long without a look at the Lease, an attempt looks again before it writes: well under the heartbeat timeout of 10 s. */
const validMs = 3000
/** Whose attempts a fence keeps apart. */
export type FenceName = 'joiner-planner-fence' | 'joiner-disruption-fence'

/** Thrown by an attempt that found its successor in the Lease. Its work is the successor's now. */
export class FenceLostError extends Error {
  override readonly name = 'FenceLostError'
}

/**
 * The right of one planning attempt to write (docs/adr/0003-planner-fence.md). A stopped attempt that wakes up beside
 * its successor sees that the clock has jumped, reads the Lease, and ends.
 */
export class Fence {
  readonly #lease: Lease
  readonly #name: FenceName
  #checkedAt = 0

  private constructor(lease: Lease, name: FenceName) {
    this.#lease = lease
    this.#name = name
  }

  /** Takes the fence for the attempt. Temporal started it because there is no other, or none that it still hears from. */
  static async take(
    deps: { readonly client: KubernetesClient; readonly namespace: string },
    attemptId: string,
    name: FenceName = 'joiner-planner-fence',
  ): Promise<Fence> {
    const fence = new Fence(new Lease(deps, { name, identity: attemptId, durationSeconds: 10 }), name)
    await fence.#lease.seize()
    fence.#checkedAt = Date.now()
    return fence
  }

  /** True while no look at the Lease is needed before the next write. */
  get isFresh(): boolean {
    return Date.now() - this.#checkedAt < validMs
  }

  /** Reads the Lease unless that was done a moment ago. Errors: as `check`. */
  async checkIfStale(): Promise<void> {
    // The clock tells when this process had stopped: then somebody else may be at work now.
    if (!this.isFresh) await this.check()
  }

  /** Reads the Lease. Errors: `FenceLostError` when another attempt holds it. */
  async check(): Promise<void> {
    const startedAt = Date.now()
    if (!(await this.#lease.isHeld()))
      throw new FenceLostError(`Lease ${this.#name} names another planning attempt; this one stops`)
    this.#checkedAt = startedAt
  }
}
