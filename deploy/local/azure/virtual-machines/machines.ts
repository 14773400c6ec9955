import { randomUUID } from 'node:crypto'
import { Addresses } from '../network/addresses.ts'
import type { Journal, Table } from '../server/journal.ts'
import { SortedMap } from '../server/sorted-map.ts'
import { type Leftover, type Machine, nicConfigurations, type Part, type PartType } from './machine.ts'

/** Called with each change of a VM; `removed` also when it is gone. */
export type MachineListener = (machine: Machine, change: 'added' | 'saved' | 'removed') => void

/** VMs, and what is left of those that are gone. On disk. */
export class Machines {
  readonly #table: Table<Machine>
  readonly #leftovers: Table<Leftover>
  readonly #sorted = new SortedMap<Machine>()
  readonly #parts = { networkInterfaces: new SortedMap<Part>(), disks: new SortedMap<Part>() }
  readonly #listeners: MachineListener[] = []
  readonly #newId: () => string
  readonly addresses = new Addresses()

  constructor(journal: Journal, newId: () => string = randomUUID) {
    this.#newId = newId
    this.#table = journal.table<Machine>('machines')
    this.#leftovers = journal.table<Leftover>('leftovers')
    for (const machine of this.#table.all) this.#index(machine)
    for (const leftover of this.#leftovers.all) this.#indexLeftover(leftover)
  }

  get(name: string): Machine | undefined {
    return this.#table.get(name)
  }

  get all(): readonly Machine[] {
    return this.#table.all
  }

  /** By name. */
  get sorted(): SortedMap<Machine> {
    return this.#sorted
  }

  /** NICs or disks by name: those of VMs and those that are left. */
  parts(type: PartType): SortedMap<Part> {
    return this.#parts[type]
  }

  /** Reports what is there, and each change from now on. */
  watch(listener: MachineListener): void {
    this.#listeners.push(listener)
    for (const machine of this.all) listener(machine, 'added')
  }

  /** A new VM, not kept yet. */
  draft({ name, body, size, addresses }: Pick<Machine, 'name' | 'body' | 'size' | 'addresses'>): Machine {
    return {
      name,
      vmId: this.#newId(),
      body,
      timeCreated: new Date().toISOString(),
      addresses,
      size,
      state: 'Creating',
      power: 'running',
      joins: true,
    }
  }

  /** A NIC that was left with the name of one of its own becomes its own. */
  add(machine: Machine): void {
    for (const { name } of nicConfigurations(machine)) this.discard('networkInterfaces', name)
    this.#index(machine)
    this.#table.put(machine.name, machine)
    this.#notify(machine, 'added')
  }

  /** Writes a change down before it is reported. A VM that is gone stays gone: its kubelet may be the last to hear. */
  save(machine: Machine): void {
    if (this.get(machine.name) !== machine) return
    this.#table.put(machine.name, machine)
    this.#notify(machine, 'saved')
  }

  remove(machine: Machine, leftovers: readonly Leftover[]): void {
    for (const { name } of nicConfigurations(machine)) this.#parts.networkInterfaces.delete(name)
    const disk = diskName(machine)
    if (disk !== undefined) this.#parts.disks.delete(disk)
    this.addresses.release(machine.addresses)
    for (const leftover of leftovers) {
      this.#leftovers.put(`${leftover.type}/${leftover.name}`, leftover)
      this.#indexLeftover(leftover)
    }
    this.#sorted.delete(machine.name)
    this.#table.delete(machine.name)
    this.#notify(machine, 'removed')
  }

  leftovers(type: PartType): readonly Leftover[] {
    return this.#leftovers.all.filter((leftover) => leftover.type === type)
  }

  /** Writes a change of a leftover down. */
  saveLeftover(leftover: Leftover): void {
    this.#leftovers.put(`${leftover.type}/${leftover.name}`, leftover)
    this.#indexLeftover(leftover)
  }

  /** Deletes a leftover for good; false: there was none. */
  discard(type: PartType, name: string): boolean {
    const key = `${type}/${name}`
    const found = this.#leftovers.get(key)
    if (found === undefined) return false
    this.#parts[type].delete(name)
    this.addresses.release(found.addresses ?? [])
    this.#leftovers.delete(key)
    return true
  }

  #index(machine: Machine): void {
    this.#sorted.set(machine.name, machine)
    this.addresses.hold(machine.addresses)
    for (const { name } of nicConfigurations(machine))
      this.#parts.networkInterfaces.set(name, { kind: 'attached', name, machine })
    const disk = diskName(machine)
    if (disk !== undefined) this.#parts.disks.set(disk, { kind: 'attached', name: disk, machine })
  }

  #indexLeftover(leftover: Leftover): void {
    this.addresses.hold(leftover.addresses ?? [])
    this.#parts[leftover.type].set(leftover.name, { kind: 'leftover', name: leftover.name, leftover })
  }

  #notify(machine: Machine, change: Parameters<MachineListener>[1]): void {
    for (const listener of this.#listeners) listener(machine, change)
  }
}

function diskName({ body }: Machine): string | undefined {
  return body.properties.storageProfile?.osDisk?.name
}
