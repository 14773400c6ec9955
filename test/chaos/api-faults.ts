import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import type { FakeRequest } from '../fakes/cluster.ts'
import { metaOf } from '../fast/kubernetes/api/objects.ts'
import { randomNumbers } from '../fast/virtual-clock.ts'
import type { FastWorld } from '../fast/world/fast-world.ts'
import { Hold, type Waiting } from '../faults/gate.ts'

/** What is wrong with the API server for a while. */
export type ApiFault =
  | { readonly kind: 'errors'; readonly status: 409 | 500; readonly share: number; readonly untilMs: number }
  | { readonly kind: 'slow'; readonly ms: number; readonly untilMs: number }
  /** NodeClaims of the NodePool are not created. */
  | { readonly kind: 'refuses'; readonly pool: string; readonly untilMs: number }

const poolLabel = 'karpenter.sh/nodepool'
const labelsOf = (body: unknown) => metaOf(body as Json).labels ?? {}
/** The longest that planners leave alone what was refused, and how far they may be behind. */
const backOffMs = 12 * 60_000

/** Writes that take effect and whose answers never come. */
class Unanswered extends Hold {
  #left: number
  readonly #onHit: () => void

  constructor(count: number, onHit: () => void) {
    super(({ method }) => method !== 'GET')
    this.#left = count
    this.#onHit = onHit
  }

  override take(waiting: Waiting): boolean {
    if (this.#left === 0 || !this.matches(waiting.call)) return false
    this.#left -= 1
    this.#onHit()
    void waiting.send()
    return true
  }
}

/** What goes wrong between Joiner and the API server in memory. */
export class ApiFaults {
  readonly #fast: FastWorld
  readonly #random: () => number
  readonly #onHit: (name: string) => void
  #faults: readonly ApiFault[] = []

  /** `onHit`: hears of each request that a fault hits. */
  constructor(fast: FastWorld, seed: number, onHit: (name: string) => void) {
    this.#fast = fast
    this.#random = randomNumbers(seed)
    this.#onHit = onHit
    fast.cluster.intercept((request) => this.#meet(request))
  }

  /** Whether something is wrong now that may keep Joiner from anything. */
  get isTroubled(): boolean {
    return this.#current().some(({ kind }) => kind !== 'refuses')
  }

  /** Whether a NodePool gets no nodes, or a planner may not have noticed yet that it does again. */
  refuses(pool: string): boolean {
    const sinceMs = this.#fast.time.clock.now() - backOffMs
    return this.#faults.some((fault) => fault.kind === 'refuses' && fault.pool === pool && fault.untilMs > sinceMs)
  }

  add(fault: ApiFault): void {
    const now = this.#fast.time.clock.now()
    this.#faults = [...this.#faults.filter(({ untilMs }) => untilMs > now - backOffMs), fault]
  }

  loseAnswers(count: number): void {
    this.#fast.gate.add(new Unanswered(count, () => this.#onHit('hit: api answer lost')))
  }

  clear(): void {
    this.#faults = []
    this.#fast.gate.forget()
  }

  #current(): readonly ApiFault[] {
    const now = this.#fast.time.clock.now()
    return this.#faults.filter(({ untilMs }) => untilMs > now)
  }

  async #meet({ verb, path, body }: FakeRequest): Promise<void> {
    for (const fault of this.#current()) {
      if (fault.kind === 'refuses') {
        if (verb === 'create' && path.endsWith('/nodeclaims') && labelsOf(body)[poolLabel] === fault.pool)
          throw this.#refusal(fault.pool)
        continue
      }
      if (fault.kind === 'slow') {
        this.#onHit('hit: api slow')
        await new Promise((resolve) => setTimeout(resolve, fault.ms))
        continue
      }
      if ((fault.status === 409 && verb !== 'patch') || this.#random() >= fault.share) continue
      this.#onHit(`hit: api ${fault.status}`)
      throw fault.status === 409
        ? new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${path}: the object has been modified`)
        : new ApiError(500, 'InternalError', 'etcdserver: leader changed')
    }
  }

  #refusal(pool: string): ApiError {
    this.#onHit('hit: create refused')
    return new ApiError(
      403,
      'Forbidden',
      `admission webhook "policy.example.com" denied the request: no more of ${pool}`,
    )
  }
}
