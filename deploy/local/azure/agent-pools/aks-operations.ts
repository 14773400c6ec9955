import type { Journal, Table } from '../server/journal.ts'
import type { Machine } from '../virtual-machines/machine.ts'
import type { AksMachine } from './agent-pools.ts'

/** A long-running operation of AKS on machines. How far it is follows from their VMs, so a restart loses nothing. */
export interface AksOperation {
  readonly id: string
  readonly kind: 'create' | 'update' | 'delete'
  readonly machines: readonly Pick<AksMachine, 'vm' | 'vmId'>[]
  readonly startTime: string
}

interface Progress {
  readonly status: 'InProgress' | 'Succeeded' | 'Failed'
  readonly error?: { readonly code: string; readonly message: string }
}

/** Operations of AKS, on disk. */
export class AksOperations {
  readonly #table: Table<AksOperation>
  readonly #newId: () => string

  constructor(journal: Journal, newId: () => string) {
    this.#newId = newId
    this.#table = journal.table('aksOperations')
  }

  get(id: string): AksOperation | undefined {
    return this.#table.get(id)
  }

  begin(kind: AksOperation['kind'], machines: AksOperation['machines']): AksOperation {
    const operation = {
      id: this.#newId(),
      kind,
      machines: machines.map(({ vm, vmId }) => ({ vm, vmId })),
      startTime: new Date().toISOString(),
    }
    this.#table.put(operation.id, operation)
    return operation
  }
}

/** How far an operation is, by the VMs of its machines that are still there. */
export function progressOf({ kind }: Pick<AksOperation, 'kind'>, vms: readonly (Machine | undefined)[]): Progress {
  const there = vms.filter((vm) => vm !== undefined)
  if (kind === 'update') return { status: 'Succeeded' }
  if (kind === 'delete') {
    const error = there.find(({ state }) => state === 'Failed')?.deleteFailure
    return error === undefined ? { status: there.length > 0 ? 'InProgress' : 'Succeeded' } : { status: 'Failed', error }
  }
  if (there.some(({ state }) => state === 'Creating')) return { status: 'InProgress' }
  const failure = there.find(({ state }) => state === 'Failed')?.failure
  if (failure !== undefined) return { status: 'Failed', error: { code: failure.code, message: failure.message } }
  if (there.length < vms.length)
    return { status: 'Failed', error: { code: 'OperationPreempted', message: 'A machine was deleted meanwhile.' } }
  return { status: 'Succeeded' }
}
