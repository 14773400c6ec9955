import type { Logger } from 'pino'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { Lease } from '../../activities/kubernetes/lease.ts'

export interface BridgeLeaseInput {
  readonly deps: { readonly client: KubernetesClient; readonly namespace: string; readonly log: Logger }
  readonly identity: string
  /** Called each time that this process begins to lead, with who led until the Lease ran out, if anybody did. */
  readonly onTaken: (from: string) => Promise<void>
}

const leaseSeconds = 10
const renewMs = 3000
/** Time after which a request for the Lease counts as failed, and pause before the next one: both fit several times into the Lease's duration. */
const leaseRequestMs = 2500
const retryLeaseMs = 500

/** Keeps asking for the Lease of the bridge until it is stopped. A leader that cannot renew it stops by itself before anybody else can take it. */
export class BridgeLease {
  readonly #input: BridgeLeaseInput
  readonly #lease: Lease
  #isHolding = false
  #stopped = false
  #timer: NodeJS.Timeout | undefined

  constructor(input: BridgeLeaseInput) {
    this.#input = input
    this.#lease = new Lease(input.deps, {
      name: 'joiner-bridge',
      identity: input.identity,
      durationSeconds: leaseSeconds,
      requestMs: leaseRequestMs,
    })
  }

  /** Whether this process leads now. */
  get isHeld(): boolean {
    return !this.#stopped && this.#lease.isValid
  }

  start(): void {
    void this.#hold()
    this.#timer = setInterval(() => void this.#hold(), renewMs)
  }

  /** Leads no longer, and lets the next process lead at once. */
  async stop(): Promise<void> {
    const wasHeld = this.isHeld
    this.#stopped = true
    clearInterval(this.#timer)
    if (!wasHeld) return
    await this.#lease
      .release()
      .catch((error: unknown) =>
        this.#input.deps.log.debug({ err: error }, 'failed to release bridge lease, it will expire'),
      )
  }

  async #hold(): Promise<void> {
    if (this.#stopped || this.#isHolding) return
    this.#isHolding = true
    const { deps, identity, onTaken } = this.#input
    try {
      const holding = await this.#lease.tryHold()
      if (holding === 'taken') {
        deps.log.info({ identity }, 'became bridge leader')
        await onTaken(this.#lease.takenFrom)
      }
    } catch (error) {
      // It leads until the Lease has run out: until then no other process can hold it.
      deps.log.warn({ err: error, leads: this.isHeld }, 'failed to renew bridge lease, retrying')
      setTimeout(() => void this.#hold(), retryLeaseMs).unref()
    } finally {
      this.#isHolding = false
    }
  }
}
