import { randomUUID } from 'node:crypto'
import type { Journal, Table } from './journal.ts'

/** A long-running operation on a VM, as `Azure-AsyncOperation` shows it. */
export interface Operation {
  readonly id: string
  readonly kind: 'create' | 'update' | 'delete'
  readonly vm: string
  readonly vmId: string
  readonly startTime: string
  /** When it will be done, in epoch milliseconds: a restart neither shortens nor prolongs it. */
  readonly dueMs: number
  status: 'InProgress' | 'Succeeded' | 'Failed' | 'Canceled'
  endTime?: string
  error?: { readonly code: string; readonly message: string }
}

/** Operations that ended are still told of, as many as this. */
const remembered = 5000

/** Operations, on disk: one that is in flight when the process is killed goes on after the restart, under the same URL. */
export class Operations {
  readonly #table: Table<Operation>

  constructor(journal: Journal) {
    this.#table = journal.table<Operation>('operations')
  }

  get(id: string): Operation | undefined {
    return this.#table.get(id)
  }

  get inFlight(): readonly Operation[] {
    return this.#table.all.filter(({ status }) => status === 'InProgress')
  }

  inFlightOn(vmId: string): Operation | undefined {
    return this.inFlight.find((operation) => operation.vmId === vmId)
  }

  begin(kind: Operation['kind'], vm: { readonly name: string; readonly vmId: string }, ms: number): Operation {
    this.#forget()
    const operation: Operation = {
      id: randomUUID(),
      kind,
      vm: vm.name,
      vmId: vm.vmId,
      startTime: new Date().toISOString(),
      dueMs: Date.now() + ms,
      status: 'InProgress',
    }
    this.#table.put(operation.id, operation)
    return operation
  }

  end(operation: Operation, status: Operation['status'], error?: Operation['error']): void {
    operation.status = status
    operation.endTime = new Date().toISOString()
    if (error !== undefined) operation.error = error
    this.#table.put(operation.id, operation)
  }

  #forget(): void {
    if (this.#table.size < remembered) return
    const ended = this.#table.all.filter(({ status }) => status !== 'InProgress')
    for (const { id } of ended.slice(0, remembered / 10)) this.#table.delete(id)
  }
}
