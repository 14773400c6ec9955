import type { Logger } from 'pino'
import { pauseOf } from '../abortable-wait.ts'
import { nextTurn } from '../next-turn.ts'
import type { Lease } from './lease.ts'

/** Duration of a leader's Lease, and how long a request for it is waited for: several fit into the duration. */
export const leaderTimes = { durationSeconds: 10, requestMs: 2500 } as const
/** Time between two renewals of the Lease. */
const renewMs = 2000
/**
 * Failed renewals in a row after which the holder of a Lease that has run out stops: half a minute or so. Another process may have it by then, and nothing
 * can be written without the API server anyway.
 */
const mostMissed = 10
/** Renewals in a row after which a holder that lacks Temporal offers the Lease to others: half a minute at first, and later more. */
const lameRenewals = { first: 15, most: 150 } as const
/** How long it offers the Lease. Those that stand by look more often. */
const offerMs = 3000
const offerLookMs = 500

export interface HeldInput {
  /** What one process does, in words: `plans`. */
  readonly what: string
  readonly lease: Pick<
    Lease,
    'tryHold' | 'release' | 'validMs' | 'takenFrom' | 'tookFromDead' | 'heldBy' | 'nextLook' | 'isFree'
  >
  /** Whether a fence keeps the writes of two processes apart. */
  readonly isFenced: boolean
  /** Whether this process lacks Temporal, so that another one should do the work, if one has it. Default: it never does. */
  readonly isLame?: (() => boolean) | undefined
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Works while this process holds the Lease, and stands by while another does. With a fence it goes on while it cannot reach the Lease, until it sees that
 * another has it (ADR 3), or has missed too many renewals: cut off by itself, it would keep what its worker has been given. Without one it stops before
 * another can take it. A process that lacks Temporal offers the Lease to others now and then (ADR 48); behind a fence it works on meanwhile, and stops
 * only if another takes it. `work` ends with its signal, and `end` fires that. Returns when the signal of the input fires. Errors: those of `work`.
 */
export async function whileHeld(
  input: HeldInput,
  work: (ends: AbortSignal, end: () => void) => Promise<void>,
): Promise<void> {
  const { what, lease, isFenced, log, signal } = input
  const holder = new Holder(input)
  while (!signal.aborted) {
    if (!['taken', 'renewed'].includes((await holder.hold()) ?? '')) {
      holder.standBy()
      const { withinMs, sooner } = lease.nextLook
      await pauseOf(withinMs, sooner === undefined ? signal : AbortSignal.any([signal, sooner]))
      continue
    }
    // Named: it did not give the Lease up. Unless it was gone it may only stand still.
    const from = lease.takenFrom === '' ? {} : { insteadOf: lease.takenFrom, wasGone: lease.tookFromDead }
    log.info(from, `this process ${what}`)
    const over = new AbortController()
    const ends = AbortSignal.any([signal, over.signal])
    const end = () => over.abort()
    const keeping = holder.keep(ends, end)
    let reason: Stopped | undefined
    try {
      await work(ends, end)
    } finally {
      end()
      reason = await keeping
      if (!isFenced) await holder.release()
    }
    if (!signal.aborted) log.info(reason && { reason }, `this process ${what} no longer, and stands by`)
    if (reason === 'lacks Temporal' && !isFenced) await pauseOf(offerMs, signal)
  }
}

/** A process that holds the Lease, or stands by until it can. */
class Holder {
  readonly #input: HeldInput
  readonly #renewals = new Renewals()
  #failures = 0
  /** Who was last named as the holder. */
  #reported: string | undefined

  constructor(input: HeldInput) {
    this.#input = input
  }

  /** Takes or renews the Lease. Undefined: the request failed. */
  async hold() {
    return this.#input.lease.tryHold().catch((error: unknown) => this.#failed(error))
  }

  async release(): Promise<void> {
    await this.#input.lease.release().catch((error: unknown) => this.#failed(error))
  }

  /** Says once which other process works. */
  standBy(): void {
    const { lease, log, what } = this.#input
    const { holder, heldMs } = lease.heldBy ?? {}
    if (holder === undefined || holder === this.#reported || heldMs === undefined) return
    // Sooner it may be one that is gone.
    if (heldMs <= leaderTimes.durationSeconds * 1000) return
    this.#reported = holder
    log.info({ holder, seconds: Math.round(heldMs / 1000) }, `another process ${what}, and this one stands by`)
  }

  /** Renews the Lease until the signal fires. Calls `end` when the process should stop, and returns why. */
  async keep(ends: AbortSignal, end: () => void): Promise<Stopped | undefined> {
    const { lease, isFenced, isLame = () => false } = this.#input
    let reason: Stopped | undefined
    const stop = (why: Stopped) => {
      reason ??= why
      end()
    }
    this.#reported = undefined
    if (!isFenced) void whenOver(lease, ends).then(() => ends.aborted || stop('could not renew its Lease in time'))
    while (!ends.aborted) {
      await pauseOf(renewMs, ends)
      if (ends.aborted) break
      const held = await this.hold()
      const lack = this.#renewals.judged(held === undefined && lease.validMs === 0, isLame())
      if (held === 'other') stop('another process has its Lease')
      // Behind a fence it works on while it offers the Lease.
      else if (lack !== undefined && (lack !== 'lacks Temporal' || !isFenced || (await this.#isTakenByOther(ends))))
        stop(lack)
    }
    // At once behind a fence: the next process need not wait until the last writes of this one are through.
    if (isFenced) await this.release()
    return reason
  }

  async #isTakenByOther(ends: AbortSignal): Promise<boolean> {
    await this.release()
    for (let waitedMs = 0; waitedMs < offerMs && !ends.aborted; waitedMs += offerLookMs) {
      await pauseOf(offerLookMs, ends)
      if (!(await this.#input.lease.isFree().catch(() => true))) return true
    }
    return !ends.aborted && (await this.hold()) === 'other'
  }

  #failed(error: unknown): undefined {
    const { log, what } = this.#input
    log[this.#failures++ % 20 === 0 ? 'warn' : 'debug']({ what, err: error }, 'failed to renew or release lease')
  }
}

/** Why a process no longer does what only the holder of the Lease does. */
type Stopped =
  | 'another process has its Lease'
  | 'could not renew its Lease in time'
  | NonNullable<ReturnType<Renewals['judged']>>

/** Returns when the Lease is valid no more, or the signal fires. */
async function whenOver(lease: HeldInput['lease'], signal: AbortSignal): Promise<void> {
  while (!signal.aborted && lease.validMs > 0) {
    await pauseOf(lease.validMs, signal)
    // A process that was held up first reads the answers that came meanwhile: one of them may have renewed the Lease.
    await nextTurn()
  }
}

/** Judges by renewal after renewal whether a holder should stop though nobody else has the Lease. */
class Renewals {
  #missed = 0
  #lame = 0
  #mostLame: number = lameRenewals.first

  /** After a renewal, or one that was missed. Returns why the holder should stop. */
  judged(isMissed: boolean, isLame: boolean): 'lacks the API server' | 'lacks Temporal' | undefined {
    this.#missed = isMissed ? this.#missed + 1 : 0
    this.#lame = isLame ? this.#lame + 1 : 0
    if (!isLame) this.#mostLame = lameRenewals.first
    if (this.#missed >= mostMissed) {
      this.#missed = 0
      return 'lacks the API server'
    }
    if (this.#lame < this.#mostLame) return undefined
    // Where nobody has Temporal it leads again, and is not interrupted as often.
    this.#lame = 0
    this.#mostLame = Math.min(lameRenewals.most, 2 * this.#mostLame)
    return 'lacks Temporal'
  }
}
