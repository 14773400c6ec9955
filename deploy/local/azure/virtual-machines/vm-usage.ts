import type { Attempt } from '../admin/faults.ts'
import { attemptOf } from './attempt.ts'
import type { Machine } from './machine.ts'
import type { Machines } from './machines.ts'

/** So many VMs of one kind. */
export interface UsageEntry extends Attempt {
  /** VMs that are there, in whatever state: what quota counts. */
  readonly existing: number
  /** Of those, VMs that occupy hardware: neither failed nor deallocated. */
  readonly placed: number
}

interface Counted {
  readonly attempt: Attempt
  existing: number
  placed: number
}

/** How many VMs there are of each size, zone and capacity type; kept up to date with each change of a VM. */
export class VmUsage {
  readonly #counted = new Map<string, Counted>()
  /** VMs that were counted, and whether as placed. */
  readonly #known = new Map<string, { readonly key: string; isPlaced: boolean }>()

  constructor(machines: Machines) {
    machines.watch((machine, change) => {
      if (change === 'removed') this.#forget(machine)
      else this.#count(machine)
    })
  }

  get entries(): readonly UsageEntry[] {
    return [...this.#counted.values()].map(({ attempt, existing, placed }) => ({ ...attempt, existing, placed }))
  }

  #count(machine: Machine): void {
    const isPlaced = machine.failure === undefined && machine.power !== 'deallocated'
    const known = this.#known.get(machine.vmId)
    if (known !== undefined) {
      const counted = this.#counted.get(known.key)
      if (counted !== undefined && known.isPlaced !== isPlaced) counted.placed += isPlaced ? 1 : -1
      known.isPlaced = isPlaced
      return
    }
    const attempt = attemptOf(machine.body)
    const key = `${attempt.sku.toLowerCase()}/${attempt.zone}/${attempt.capacityType}`
    const counted = this.#counted.get(key) ?? { attempt, existing: 0, placed: 0 }
    counted.existing += 1
    counted.placed += isPlaced ? 1 : 0
    this.#counted.set(key, counted)
    this.#known.set(machine.vmId, { key, isPlaced })
  }

  #forget(machine: Machine): void {
    const known = this.#known.get(machine.vmId)
    const counted = known === undefined ? undefined : this.#counted.get(known.key)
    if (known === undefined || counted === undefined) return
    this.#known.delete(machine.vmId)
    counted.existing -= 1
    counted.placed -= known.isPlaced ? 1 : 0
    if (counted.existing === 0) this.#counted.delete(known.key)
  }
}
