import { randomUUID } from 'node:crypto'
import type { KubernetesClient } from '../kubernetes/client/client.ts'
import { Lease } from '../kubernetes/lease.ts'

/** Time after which an attempt reads the Lease again before it writes: well under the 10 s after which the planner's Lease runs out. */
const validMs = 3000
/** Names a process in its attempts' names: by its client, which no other has. */
const processNames = new WeakMap<KubernetesClient, string>()
/** Fences by the loop whose attempts they keep apart. */
export type FenceName = 'joiner-planner-fence' | 'joiner-disruption-fence'

/** Thrown by an attempt that found its successor in the Lease. The successor does the work now. */
export class FenceLostError extends Error {
  override readonly name = 'FenceLostError'
}

/** A moment by two clocks: one that never goes back but stands still while a machine is suspended, and the wall clock. */
interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

const now = (): Moment => ({ monotonicMs: performance.now(), wallMs: Date.now() })

/**
 * The right of one planning attempt to write (docs/adr/0003-planner-fence.md). A stopped attempt that wakes up beside
 * its successor sees that a clock has jumped, reads the Lease, and ends.
 */
export class Fence {
  readonly #lease: Lease
  readonly #name: FenceName
  #ends: AbortSignal | undefined
  readonly #lost = new AbortController()
  #checkedAt: Moment = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: 0 }

  private constructor(lease: Lease, name: FenceName) {
    this.#lease = lease
    this.#name = name
  }

  /** Takes the fence for an attempt of this process, whose others end. The watch cache may lack what another process has written. */
  static async take(
    deps: { readonly client: KubernetesClient; readonly namespace: string },
    name: FenceName,
    attempt: string,
  ): Promise<Fence> {
    const processName = processNames.get(deps.client) ?? randomUUID()
    processNames.set(deps.client, processName)
    const lease = new Lease(deps, { name, identity: `${processName}/${attempt}`, durationSeconds: 10 })
    await lease.seize()
    const fence = new Fence(lease, name)
    fence.#checkedAt = now()
    return fence
  }

  /** Until this fires, another process may only take the fence if this one stands still; then it may at once, so each write reads the Lease. */
  until(ends: AbortSignal): this {
    this.#ends = ends
    return this
  }

  /** Fires with the error once a check has found another attempt in the Lease, whoever asked for it. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** True while the next write needs no read of the Lease. A clock that was set, forward or back, requires one. */
  get isFresh(): boolean {
    if (this.#ends?.aborted === true) return false
    const { monotonicMs, wallMs } = now()
    const wallAgeMs = wallMs - this.#checkedAt.wallMs
    return monotonicMs - this.#checkedAt.monotonicMs < validMs && wallAgeMs >= 0 && wallAgeMs < validMs
  }

  /** Reads the Lease unless that was done just now. Errors: as `check`. */
  async checkIfStale(): Promise<void> {
    // The clocks show that this process had stopped: another attempt may have taken over.
    if (!this.isFresh) await this.check()
  }

  /** Reads the Lease. Errors: `FenceLostError` when another attempt holds it. */
  async check(): Promise<void> {
    const startedAt = now()
    if (!(await this.#lease.isHeld())) {
      const error = new FenceLostError(`Lease ${this.#name} names another planning attempt; this one stops`)
      this.#lost.abort(error)
      throw error
    }
    this.#checkedAt = startedAt
  }
}
