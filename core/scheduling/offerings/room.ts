import { addBit, type Bits, keep, noBits } from './bits.ts'

/** Slots by how much of one resource they leave: `slots[i]` leave at least `amounts[i]`; amounts ascend. */
interface Steps {
  readonly amounts: Float64Array
  readonly slots: readonly Bits[]
}

/** Finds slots with room for requests: a binary search and an AND for each resource. */
export class Room {
  readonly #steps: readonly Steps[]
  /** Slots without a negative amount before the first pod. */
  readonly #usable: Bits

  /** `free`: what each slot leaves for pods, by resource. A slot with a negative amount has no room at all. */
  constructor(free: readonly Float64Array[], resources: number) {
    this.#usable = noBits(free.length)
    free.forEach((vector, slot) => {
      if (vector.every((amount) => amount >= 0)) addBit(this.#usable, slot)
    })
    this.#steps = Array.from({ length: resources }, (_, resource) => stepsOf(free, resource))
  }

  /** Keeps the slots that have room for the requests. Returns whether any is left. */
  keepFitting(slots: Bits, requests: Float64Array): boolean {
    if (!keep(slots, this.#usable)) return false
    for (let resource = 0; resource < requests.length; resource++) {
      const wanted = requests[resource] as number
      if (wanted <= 0) continue
      const { amounts, slots: steps } = this.#steps[resource] as Steps
      const step = firstNotBelow(amounts, wanted)
      if (step === amounts.length) return false
      if (!keep(slots, steps[step] as Bits)) return false
    }
    return true
  }
}

function stepsOf(free: readonly Float64Array[], resource: number): Steps {
  const order = free.map((_, slot) => slot).sort((a, b) => amountOf(free, b, resource) - amountOf(free, a, resource))
  const amounts: number[] = []
  const slots: Bits[] = []
  const sofar = noBits(free.length)
  order.forEach((slot, at) => {
    addBit(sofar, slot)
    const amount = amountOf(free, slot, resource)
    const next = order[at + 1]
    if (next !== undefined && amountOf(free, next, resource) === amount) return
    amounts.push(amount)
    slots.push(sofar.slice())
  })
  return { amounts: Float64Array.from(amounts.reverse()), slots: slots.reverse() }
}

function amountOf(free: readonly Float64Array[], slot: number, resource: number): number {
  return (free[slot] as Float64Array)[resource] as number
}

function firstNotBelow(amounts: Float64Array, wanted: number): number {
  let low = 0
  let high = amounts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((amounts[middle] as number) < wanted) low = middle + 1
    else high = middle
  }
  return low
}
