import type { KubernetesClient } from '../kubernetes/client.ts'
import { Lease } from '../kubernetes/lease.ts'

/** After this long without a look at the Lease, an attempt looks again before it writes: well under the heartbeat timeout of 10 s. */
const validMs = 3000
const leaseName = 'joiner-planner-fence'

/** Thrown by an attempt that found its successor in the Lease. Its work is the successor's now. */
class FenceLostError extends Error {
  override readonly name = 'FenceLostError'
}

/**
 * The right of one planning attempt to write (docs/adr/0003-planner-fence.md). A stopped attempt that wakes up beside
 * its successor sees that the clock has jumped, reads the Lease, and ends.
 */
export class Fence {
  readonly #lease: Lease
  #checkedAt = 0

  private constructor(lease: Lease) {
    this.#lease = lease
  }

  /** Takes the fence for the attempt. Temporal started it because there is no other, or none that it still hears from. */
  static async take(
    deps: { readonly client: KubernetesClient; readonly namespace: string },
    attemptId: string,
  ): Promise<Fence> {
    const fence = new Fence(new Lease(deps, { name: leaseName, identity: attemptId, durationSeconds: 10 }))
    await fence.#lease.seize()
    fence.#checkedAt = Date.now()
    return fence
  }

  /** True while no look at the Lease is needed before the next write. */
  get isFresh(): boolean {
    return Date.now() - this.#checkedAt < validMs
  }

  /** Reads the Lease. Errors: `FenceLostError` when another attempt holds it. */
  async check(): Promise<void> {
    const startedAt = Date.now()
    if (!(await this.#lease.isHeld()))
      throw new FenceLostError(`Lease ${leaseName} names another planning attempt; this one stops`)
    this.#checkedAt = startedAt
  }
}
