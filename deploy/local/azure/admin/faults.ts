import type { Fault, Match } from './fault-shape.ts'

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
