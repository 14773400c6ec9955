import {
  type DrainReported,
  type DrainWaits,
  firstOf,
  type Hold,
  isVmLookDue,
  newsFor,
  type SeenHold,
  sinceWhen,
  waitsText,
} from '../../../core/node-claim/drain-waits.ts'
import { isReady } from '../../../core/node-claim/registration.ts'
import type { Node } from '../../../core/objects.ts'
import { setClaimConditions } from '../client/object-writes.ts'
import type { ClaimRef, DrainOutcome } from '../contract.ts'
import { subject } from '../event-recorder.ts'
import type { WriteDeps } from '../parts.ts'

export interface DrainReportDeps extends WriteDeps {}

/** Time after which an unblocked wait is written, and shortest time between two writes of conditions. */
const writeEveryMs = 5000

/** The condition of a claim that reports a wait, and the event about its Nodes. */
export interface ReportedAs {
  readonly condition: 'Drained' | 'VolumesDetached'
  readonly reason: string
  readonly event: 'FailedDraining' | 'AwaitingVolumeDetachment'
  /** Returns the sentence for the named waits. */
  readonly text: (named: string) => string
}

/** Reports what a drain waits for: in a condition, in events, and to the lifecycle. */
export class DrainReport {
  readonly #deps: DrainReportDeps
  readonly #ref: ClaimRef
  readonly #reported: DrainReported
  readonly #askedMs: number
  #seen: readonly SeenHold[] = []
  #written = ''
  #writtenMs: number

  constructor(deps: DrainReportDeps, ref: ClaimRef, reported: DrainReported) {
    this.#deps = deps
    this.#ref = ref
    this.#reported = reported
    this.#askedMs = this.#writtenMs = deps.now()
  }

  /** Records what holds the Nodes now, and writes it where that is due. Returns what the lifecycle should know at once. */
  async waitingFor(holds: readonly Hold[], nodes: readonly Node[], as: ReportedAs): Promise<DrainOutcome | undefined> {
    const now = this.#deps.now()
    const before = this.#seen.length > 0 ? this.#seen : this.#reported.waits.on
    this.#seen = sinceWhen(holds, before, now)
    if (this.#isWriteDue(now)) await this.#write(as, nodes, now)
    const news = newsFor(this.#reported, { seen: this.#seen, askedMs: this.#askedMs, now })
    return news && { kind: 'waiting', waits: news }
  }

  /**
   * Returns whether the lifecycle should check for the VM before more is done: no Node of it is ready (reference/karpenter-core.md 5.5). Only
   * Azure distinguishes a machine that is gone from one that is silent.
   */
  isVmInDoubt(nodes: readonly Node[]): boolean {
    if (nodes.length === 0 || nodes.some(isReady)) return false
    return isVmLookDue(this.#reported, this.#askedMs, this.#deps.now())
  }

  /** Returns whether a write is due: at once for what is blocked, after a while for the rest. */
  #isWriteDue(now: number): boolean {
    const isFirst = this.#written === '' && this.#seen.some(({ isBlocked }) => isBlocked)
    return this.#seen.length > 0 && (isFirst || now >= this.#writtenMs + writeEveryMs)
  }

  async #write({ condition, reason, event, text }: ReportedAs, nodes: readonly Node[], now: number): Promise<void> {
    const waits = firstOf(this.#seen)
    const message = text(waitsText(waits)).slice(0, 1024)
    if (message === this.#written) return
    this.#written = message
    this.#writtenMs = now
    for (const node of nodes) {
      const values = [node.metadata.uid, ...blockedNames(this.#seen, waits)]
      this.#deps.events.record({ about: subject(node), reason: event, message: eventText(event, message), values })
    }
    // A claim whose deletion was taken back gets no condition that its next drain would go by.
    await setClaimConditions(this.#deps, this.#ref, ({ metadata }) =>
      metadata.deletionTimestamp === undefined
        ? undefined
        : { conditions: [{ type: condition, status: 'Unknown', reason, message }] },
    )
  }
}

/** Returns the names of blocked waits: a change of these is published at once; waits that only take time are not. */
function blockedNames(seen: readonly SeenHold[], { on }: DrainWaits): readonly string[] {
  return seen.slice(0, on.length).flatMap(({ isBlocked, what }) => (isBlocked ? [what] : []))
}

function eventText(event: ReportedAs['event'], message: string): string {
  return event === 'FailedDraining' ? `Failed to drain node, ${message}` : message
}
