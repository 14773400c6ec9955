/** Which creates a fault hits: all that is named must match. */
interface Match {
  readonly sku?: string
  /** ARM zone number; `0` for a regional VM. */
  readonly zone?: string
  readonly capacityType?: 'spot' | 'on-demand'
}

export type Fault = {
  readonly match?: Match
  count: number
} /** The PUT is refused (`failSync`), or accepted and then fails (`failAsync`). */ & (
  | {
      readonly kind: 'failSync' | 'failAsync'
      readonly code: string
      readonly message?: string
      readonly status?: number
    }
  /** The answer is lost after the VM was stored. */
  | { readonly kind: 'resetAfterCommit' }
  /** The VM is created, and its kubelet never starts. */
  | { readonly kind: 'neverJoins' }
  /** The next requests of any kind are answered with 429. */
  | { readonly kind: 'throttle'; readonly retryAfterSeconds: number }
  /** The answer to creates comes so much later. */
  | { readonly kind: 'latency'; readonly ms: number }
)

export interface Attempt {
  readonly sku: string
  readonly zone: string
  readonly capacityType: 'spot' | 'on-demand'
}

/** Faults on demand, each for its next `count` hits. */
export class Faults {
  #faults: Fault[] = []

  add(fault: Fault): void {
    this.#faults.push({ ...fault, count: fault.count ?? 1 })
  }

  clear(): void {
    this.#faults = []
  }

  get list(): readonly Fault[] {
    return this.#faults
  }

  /** The next fault of a kind that applies; it is used up by one. */
  take<K extends Fault['kind']>(kind: K, attempt?: Attempt): (Fault & { readonly kind: K }) | undefined {
    const found = this.#faults.find((fault) => fault.kind === kind && fault.count > 0 && applies(fault.match, attempt))
    if (found === undefined) return undefined
    found.count -= 1
    if (found.count === 0) this.#faults = this.#faults.filter((fault) => fault !== found)
    return found as Fault & { readonly kind: K }
  }
}

function applies(match: Match | undefined, attempt: Attempt | undefined): boolean {
  if (match === undefined) return true
  if (attempt === undefined) return false
  return (
    (match.sku === undefined || match.sku === attempt.sku) &&
    (match.zone === undefined || match.zone === attempt.zone) &&
    (match.capacityType === undefined || match.capacityType === attempt.capacityType)
  )
}
