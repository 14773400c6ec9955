import type { Journal, Table } from '../server/journal.ts'
import { attemptOf } from './attempt.ts'
import type { Machine } from './machine.ts'
import type { Machines } from './machines.ts'

/** What one VM costs: its time and its price. */
export interface BilledVm {
  readonly name: string
  readonly vmId: string
  readonly size: string
  readonly zone: string
  readonly capacityType: string
  readonly tags: Readonly<Record<string, string>>
  /** USD an hour by the price list; absent: it has no such price. */
  readonly pricePerHour?: number
  /** Epoch ms: when its PUT was accepted. */
  readonly fromMs: number
  /** Epoch ms: when its deletion was accepted or it was deallocated; absent: it costs on. */
  readonly toMs?: number
}

export interface BillDeps {
  readonly journal: Journal
  readonly machines: Machines
  readonly priceOf: (size: string, isSpot: boolean) => number | undefined
  /** Epoch ms. */
  readonly now: () => number
}

/**
 * What every VM cost since the simulator's state began, also those that are gone. A VM costs from the PUT that was accepted until its deletion is accepted or
 * it is deallocated. One that could not be made costs nothing, as in Azure. On disk.
 */
export class Bill {
  readonly #deps: BillDeps
  readonly #rows: Table<BilledVm>

  constructor(deps: BillDeps) {
    this.#deps = deps
    this.#rows = deps.journal.table<BilledVm>('bill')
    const existing = new Set(deps.machines.all.map(({ vmId }) => vmId))
    // The process was killed after it had removed the VM.
    for (const row of this.#rows.all) if (row.toMs === undefined && !existing.has(row.vmId)) this.#end(row, deps.now())
    deps.machines.watch((machine, change) => {
      if (change === 'removed') this.#removed(machine)
      else this.#changed(machine)
    })
  }

  /** The oldest first. */
  get rows(): readonly BilledVm[] {
    return this.#rows.all
  }

  #changed(machine: Machine): void {
    const row = this.#rows.get(machine.vmId)
    if (row === undefined) this.#begin(machine, Date.parse(machine.timeCreated))
    else if (row.toMs === undefined && machine.state === 'Failed') this.#end(row, row.fromMs)
    else if (row.toMs === undefined && (machine.power === 'deallocated' || machine.state === 'Deleting'))
      this.#end(row, this.#deps.now())
    // A PUT over a VM that failed.
    else if (row.toMs !== undefined && machine.state === 'Creating') this.#begin(machine, this.#deps.now())
  }

  #removed({ vmId }: Machine): void {
    const row = this.#rows.get(vmId)
    if (row !== undefined && row.toMs === undefined) this.#end(row, this.#deps.now())
  }

  #begin({ name, vmId, body }: Machine, fromMs: number): void {
    const { sku: size, zone, capacityType } = attemptOf(body)
    const pricePerHour = this.#deps.priceOf(size, capacityType === 'spot')
    this.#rows.put(vmId, {
      name,
      vmId,
      size,
      zone,
      capacityType,
      tags: body.tags ?? {},
      ...(pricePerHour === undefined ? {} : { pricePerHour }),
      fromMs,
    })
  }

  #end(row: BilledVm, toMs: number): void {
    this.#rows.put(row.vmId, { ...row, toMs })
  }
}
