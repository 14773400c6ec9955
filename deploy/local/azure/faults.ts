/** Which VMs a fault hits: all that is named must match. A request that names no VM size matches nothing of it. */
interface Match {
  readonly sku?: string
  /** ARM zone number; `0` for a regional VM. */
  readonly zone?: string
  readonly capacityType?: 'spot' | 'on-demand'
}

export type Fault = {
  readonly match?: Match
  /** How often it hits. Default 1. */
  count?: number
} & (
  | RequestFault
  /** The VM is accepted and then fails to be created. */
  | { readonly kind: 'failAsync'; readonly code: string; readonly message?: string }
  /** The answer is lost after the VM was stored. */
  | { readonly kind: 'resetAfterCommit' }
  /** The VM is created, and its kubelet never starts. */
  | { readonly kind: 'neverJoins' }
  /** Azure takes the spot VM back so long after it was created. */
  | { readonly kind: 'evict'; readonly afterMs: number }
  /** The VM's NICs stay when it goes. */
  | { readonly kind: 'keepsNics' }
)

/** Hits requests, by the name under which they are counted, such as `DELETE virtualMachines`. */
type RequestFault = {
  /** Default: creates, and for `throttle` any request. */
  readonly operation?: string
} & (
  | {
      /** The request is refused. */
      readonly kind: 'failSync'
      readonly code: string
      readonly message?: string
      /** Default 409. */
      readonly status?: number
    }
  /** The request is answered with 429. */
  | { readonly kind: 'throttle'; readonly retryAfterSeconds: number }
  /** The request is worked on so much later. */
  | { readonly kind: 'latency'; readonly ms: number }
)

/** How a create is counted. */
export const createOperation = 'PUT virtualMachines'

export interface Attempt {
  readonly sku: string
  readonly zone: string
  readonly capacityType: 'spot' | 'on-demand'
}

/** Faults on demand, each for its next `count` hits. They are not kept on disk. */
export class Faults {
  #faults: (Fault & { count: number })[] = []

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
  take<K extends Fault['kind']>(
    kind: K,
    attempt: Attempt | undefined,
    operation = createOperation,
  ): (Fault & { readonly kind: K }) | undefined {
    const found = this.#faults.find(
      (fault) => fault.kind === kind && fault.count > 0 && isAimedAt(fault, operation) && applies(fault.match, attempt),
    )
    if (found === undefined) return undefined
    found.count -= 1
    if (found.count === 0) this.#faults = this.#faults.filter((fault) => fault !== found)
    return found as Fault & { readonly kind: K }
  }
}

function isAimedAt(fault: Fault, operation: string): boolean {
  const aim = 'operation' in fault ? fault.operation : undefined
  if (aim === undefined) return fault.kind === 'throttle' || operation === createOperation
  return aim.toLowerCase() === operation.toLowerCase()
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
