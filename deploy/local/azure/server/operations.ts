import type { Journal, Table } from './journal.ts'

/** A long-running operation on a VM, as `Azure-AsyncOperation` shows it. */
export interface Operation {
  readonly id: string
  readonly kind: 'create' | 'update' | 'restart' | 'delete' | 'extension'
  /** Name of the extension that it is about. */
  readonly extension?: string
  readonly vm: string
  readonly vmId: string
  readonly startTime: string
  /** When it will be done, in epoch milliseconds: a restart neither shortens nor prolongs it. */
  readonly dueMs: number
  status: 'InProgress' | 'Succeeded' | 'Failed' | 'Canceled'
  endTime?: string
  error?: { readonly code: string; readonly message: string }
}

/** Most operations that are kept after their end. */
const remembered = 5000

/** Operations, on disk: one that is in flight when the process is killed goes on after the restart, under the same URL. */
export class Operations {
  readonly #table: Table<Operation>
  readonly #inFlight = new Set<Operation>()
  readonly #ended: string[] = []
  readonly #newId: () => string

  constructor(journal: Journal, newId: () => string) {
    this.#newId = newId
    this.#table = journal.table<Operation>('operations')
    for (const operation of this.#table.all) {
      if (operation.status === 'InProgress') this.#inFlight.add(operation)
      else this.#ended.push(operation.id)
    }
  }

  get(id: string): Operation | undefined {
    return this.#table.get(id)
  }

  get inFlight(): readonly Operation[] {
    return [...this.#inFlight]
  }

  /** What is going on with a VM itself, extensions aside. */
  inFlightOn(vmId: string): Operation | undefined {
    return this.inFlight.find((operation) => operation.vmId === vmId && operation.kind !== 'extension')
  }

  /** `ms`: how long it takes. */
  begin(
    kind: Operation['kind'],
    vm: { readonly name: string; readonly vmId: string },
    { ms, extension }: { readonly ms: number; readonly extension?: string },
  ): Operation {
    this.#forget()
    const operation: Operation = {
      id: this.#newId(),
      kind,
      ...(extension === undefined ? {} : { extension }),
      vm: vm.name,
      vmId: vm.vmId,
      startTime: new Date().toISOString(),
      dueMs: Date.now() + ms,
      status: 'InProgress',
    }
    this.#inFlight.add(operation)
    this.#table.put(operation.id, operation)
    return operation
  }

  end(operation: Operation, status: Operation['status'], error?: Operation['error']): void {
    operation.status = status
    if (this.#inFlight.delete(operation)) this.#ended.push(operation.id)
    operation.endTime = new Date().toISOString()
    if (error !== undefined) operation.error = error
    this.#table.put(operation.id, operation)
  }

  /** The oldest of those that ended go first. */
  #forget(): void {
    while (this.#ended.length > remembered) this.#table.delete(this.#ended.shift() as string)
  }
}
