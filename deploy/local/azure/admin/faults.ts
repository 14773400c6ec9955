/** Which VMs a fault hits: all that is named must match. A request that names no VM size matches nothing of it. */
export interface Match {
  readonly sku?: string
  /** ARM zone number; `0` for a regional VM. */
  readonly zone?: string
  readonly capacityType?: 'spot' | 'on-demand'
  /** Version of the node image. */
  readonly image?: string
}

export type Fault = {
  readonly match?: Match
  /** How often it hits. Default 1; with a probability or a time, without end. */
  count?: number
  /** How long it hits, from when it was added. Default: until its count is used up. */
  readonly forMs?: number
  /** How likely it hits what it matches, from 0 to 1. Default 1. */
  readonly probability?: number
  /** What the chances follow from: the same seed and the same requests give the same hits. Default 1. */
  readonly seed?: number
} & (
  | RequestFault
  /** The VM is accepted and then fails to be created. */
  | { readonly kind: 'failAsync'; readonly code: string; readonly message?: string }
  /** The extension is accepted and then fails. */
  | { readonly kind: 'failExtension'; readonly code: string; readonly message?: string }
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
      /** Field or resource that the refusal names beside its message. */
      readonly target?: string
      /** Default 409. */
      readonly status?: number
    }
  /** The request is answered with 429. */
  | { readonly kind: 'throttle'; readonly retryAfterSeconds: number }
  /** The request is worked on so much later. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** The request is worked on, and its answer stops in the middle of its body. */
  | { readonly kind: 'stallBody' }
  /** The list is answered with nothing in it. Needs `operation`, such as `GET virtualMachines`; requests for a single resource pass. */
  | { readonly kind: 'emptyList' }
)

/** How a create is counted. */
export const createOperation = 'PUT virtualMachines'

export interface Attempt {
  readonly sku: string
  readonly zone: string
  readonly capacityType: 'spot' | 'on-demand'
  /** Version of the node image; empty when the VM names none. */
  readonly image: string
}

/** Faults on demand, each for its next `count` hits. They are not kept on disk. */
export class Faults {
  #armed: Armed[] = []
  readonly #hits = new Map<Fault['kind'], number>()

  add(fault: Fault): void {
    const { probability, forMs, seed = 1 } = fault
    const isBounded = probability === undefined && forMs === undefined
    const count = fault.count ?? (isBounded ? 1 : Number.POSITIVE_INFINITY)
    const isDrawn = probability === undefined ? () => true : chances(probability, seed)
    const untilMs = forMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + forMs
    this.#armed.push({ fault: { ...fault, count }, untilMs, isDrawn })
  }

  clear(): void {
    this.#armed = []
  }

  get list(): readonly Fault[] {
    return this.#armed.map(({ fault }) => fault)
  }

  /** How often faults of each kind have hit since the start. */
  get hits(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#hits)
  }

  /** The next fault of a kind that applies; it is used up by one. */
  take<K extends Fault['kind']>(
    kind: K,
    attempt: Attempt | undefined,
    operation = createOperation,
  ): (Fault & { readonly kind: K }) | undefined {
    const now = Date.now()
    this.#armed = this.#armed.filter(({ untilMs }) => untilMs > now)
    const found = this.#armed.find(
      ({ fault, isDrawn }) =>
        fault.kind === kind && isAimedAt(fault, operation) && applies(fault.match, attempt) && isDrawn(),
    )
    if (found === undefined) return undefined
    found.fault.count -= 1
    this.#hits.set(kind, (this.#hits.get(kind) ?? 0) + 1)
    if (found.fault.count === 0) this.#armed = this.#armed.filter((armed) => armed !== found)
    return found.fault as Fault & { readonly kind: K }
  }
}

interface Armed {
  readonly fault: Fault & { count: number }
  readonly untilMs: number
  readonly isDrawn: () => boolean
}

/** Draws that hit with a probability (mulberry32). */
function chances(probability: number, seed: number): () => boolean {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 < probability
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
    (match.capacityType === undefined || match.capacityType === attempt.capacityType) &&
    (match.image === undefined || match.image === attempt.image)
  )
}
