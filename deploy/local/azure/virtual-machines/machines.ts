import { randomUUID } from 'node:crypto'
import type { BootResult } from '../boot/provision.ts'
import type { VmSize } from '../catalogue/sku-catalogue.ts'
import { type Address, Addresses } from '../network/addresses.ts'
import type { Journal, Table } from '../server/journal.ts'
import { SortedMap } from '../server/sorted-map.ts'

type ProvisioningState = 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting'

/** A VM as the simulator keeps it: the body of its PUT, and what became of it. */
export interface Machine {
  readonly name: string
  readonly vmId: string
  /** What a PUT or PATCH changes is replaced whole. */
  body: MachineBody
  readonly timeCreated: string
  /** Of its NICs' IP configurations, in their order. */
  readonly addresses: readonly Address[]
  readonly size: VmSize
  state: ProvisioningState
  failure?: AsyncFailure
  /** Until when Azure keeps the NICs of a VM that failed, in epoch milliseconds. */
  nicsReservedUntilMs?: number
  /** By name in lower case. */
  extensions?: Readonly<Record<string, Extension>>
  power: 'running' | 'stopped' | 'deallocated' | 'frozen'
  joins: boolean
  /** How it was provisioned, once it has booted. */
  boot?: BootResult
  /** Its kubelet has registered the Node. */
  joined?: boolean
  /** When Azure takes a spot VM back, in epoch milliseconds. */
  evictAtMs?: number
  /** That time was drawn by the rate of evictions. */
  isEvictionDrawn?: boolean
  /** Azure has given notice that it takes the VM back. */
  preemption?: { readonly atMs: number; readonly eventId: string }
  /** Its NIC stays when the VM goes, whatever its delete option says. */
  keepsNics?: boolean
  /** Tags of its NICs and disks that were changed after the VM was made, by their names. */
  partTags?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** The Node's client certificate, once it has one: a restarted simulator goes on being that kubelet. */
  credential?: { readonly cert: string; readonly key: string }
}

/** An extension as the simulator keeps it: the body of its PUT, and what became of it. */
export interface Extension {
  readonly name: string
  readonly tags?: Readonly<Record<string, string>>
  readonly properties: Readonly<Record<string, unknown>>
  readonly state: 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting'
  readonly failure?: AsyncFailure
}

/** Why a VM could not be made, told after its PUT was accepted. */
export interface AsyncFailure {
  readonly code: string
  readonly message: string
}

export interface MachineBody {
  readonly location: string
  readonly tags?: Record<string, string>
  readonly zones?: readonly string[]
  readonly identity?: unknown
  readonly properties: {
    readonly hardwareProfile: { readonly vmSize: string }
    readonly priority?: 'Spot' | 'Regular'
    readonly evictionPolicy?: 'Deallocate' | 'Delete'
    readonly storageProfile?: {
      readonly osDisk?: {
        readonly name?: string
        readonly diskSizeGB?: number
        readonly deleteOption?: string
        readonly managedDisk?: { readonly diskEncryptionSet?: { readonly id: string } }
      }
      readonly imageReference?: { readonly id?: string; readonly communityGalleryImageId?: string }
    }
    readonly networkProfile?: { readonly networkInterfaceConfigurations?: readonly NetworkInterfaceConfiguration[] }
    readonly osProfile?: {
      readonly computerName?: string
      readonly customData?: string
      readonly adminUsername?: string
    }
    readonly [key: string]: unknown
  }
}

export interface NetworkInterfaceConfiguration {
  readonly name: string
  readonly tags?: Record<string, string>
  readonly properties?: {
    readonly primary?: boolean
    readonly deleteOption?: string
    readonly networkSecurityGroup?: { readonly id: string }
    readonly ipConfigurations?: readonly IpConfiguration[]
  }
}

interface IpConfiguration {
  readonly name: string
  readonly properties?: {
    readonly subnet?: { readonly id: string }
    readonly loadBalancerBackendAddressPools?: readonly { readonly id: string }[]
    readonly [key: string]: unknown
  }
}

/** A NIC or disk whose VM is gone and that stayed, by its delete option or by a fault. */
export interface Leftover {
  readonly type: 'networkInterfaces' | 'disks'
  readonly name: string
  /** As ARM shows it. */
  readonly resource: Record<string, unknown>
  readonly addresses?: readonly Address[]
  /** Azure keeps the NIC of a VM that it could not make for that VM, for a while. */
  readonly reserved?: { readonly untilMs: number; readonly vm: string }
}

/** A NIC or disk, by what it hangs on. */
export type Part =
  | { readonly kind: 'attached'; readonly name: string; readonly machine: Machine }
  | { readonly kind: 'leftover'; readonly name: string; readonly leftover: Leftover }

export type PartType = Leftover['type']

/** Told of each change of a VM; `removed` also when it is gone. */
export type MachineListener = (machine: Machine, change: 'added' | 'saved' | 'removed') => void

/** VMs, and what is left of those that are gone. On disk. */
export class Machines {
  readonly #table: Table<Machine>
  readonly #leftovers: Table<Leftover>
  readonly #sorted = new SortedMap<Machine>()
  readonly #parts = { networkInterfaces: new SortedMap<Part>(), disks: new SortedMap<Part>() }
  readonly #listeners: MachineListener[] = []
  readonly addresses = new Addresses()

  constructor(journal: Journal) {
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

  /** Tells of what is there, and of each change from now on. */
  watch(listener: MachineListener): void {
    this.#listeners.push(listener)
    for (const machine of this.all) listener(machine, 'added')
  }

  /** A new VM, not kept yet. */
  draft(name: string, body: MachineBody, size: VmSize, addresses: readonly Address[]): Machine {
    return {
      name,
      vmId: randomUUID(),
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
    this.#tell(machine, 'added')
  }

  /** Writes a change down before anybody is told of it. A VM that is gone stays gone: its kubelet may be the last to hear. */
  save(machine: Machine): void {
    if (this.get(machine.name) !== machine) return
    this.#table.put(machine.name, machine)
    this.#tell(machine, 'saved')
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
    this.#tell(machine, 'removed')
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

  #tell(machine: Machine, change: Parameters<MachineListener>[1]): void {
    for (const listener of this.#listeners) listener(machine, change)
  }
}

function diskName({ body }: Machine): string | undefined {
  return body.properties.storageProfile?.osDisk?.name
}

/** Configurations of the NICs that come with a VM. */
export function nicConfigurations({ body }: Pick<Machine, 'body'>): readonly NetworkInterfaceConfiguration[] {
  return body.properties.networkProfile?.networkInterfaceConfigurations ?? []
}
