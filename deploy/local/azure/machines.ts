import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type ProvisioningState = 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting'

/** A VM as the simulator keeps it: the body of its PUT, and what became of it. */
export interface Machine {
  readonly name: string
  readonly vmId: string
  readonly body: MachineBody
  readonly timeCreated: string
  readonly ip: string
  state: ProvisioningState
  failure?: { readonly code: string; readonly message: string }
  power: 'running' | 'stopped' | 'frozen'
  joins: boolean
  /** The Node's client certificate, once it has one: a restarted simulator goes on being that kubelet. */
  credential?: { readonly cert: string; readonly key: string }
}

export interface MachineBody {
  readonly location: string
  readonly tags?: Record<string, string>
  readonly zones?: readonly string[]
  readonly identity?: unknown
  readonly properties: {
    readonly hardwareProfile: { readonly vmSize: string }
    readonly priority?: 'Spot' | 'Regular'
    readonly storageProfile?: {
      readonly osDisk?: { readonly name?: string; readonly diskSizeGB?: number; readonly deleteOption?: string }
      readonly imageReference?: unknown
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

interface NetworkInterfaceConfiguration {
  readonly name: string
  readonly properties?: {
    readonly primary?: boolean
    readonly deleteOption?: string
    readonly ipConfigurations?: readonly { readonly name: string; readonly properties?: Record<string, unknown> }[]
  }
}

/** VMs with a journal on disk: one line per change, rewritten when the process starts. */
export class Machines {
  readonly #machines = new Map<string, Machine>()
  readonly #journal: string
  #nextIp = 10

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    this.#journal = join(folder, 'machines.jsonl')
    if (existsSync(this.#journal)) this.#load()
    this.#compact()
  }

  get(name: string): Machine | undefined {
    return this.#machines.get(name.toLowerCase())
  }

  get all(): readonly Machine[] {
    return [...this.#machines.values()]
  }

  create(name: string, body: MachineBody): Machine {
    const number = this.#nextIp++
    const machine: Machine = {
      name,
      vmId: randomUUID(),
      body,
      timeCreated: new Date().toISOString(),
      ip: `10.224.${Math.floor(number / 250)}.${(number % 250) + 1}`,
      state: 'Creating',
      power: 'running',
      joins: true,
    }
    this.#machines.set(name.toLowerCase(), machine)
    this.save(machine)
    return machine
  }

  /** Writes a change down before anybody is told of it. */
  save(machine: Machine): void {
    appendFileSync(this.#journal, `${JSON.stringify(machine)}\n`)
  }

  remove(name: string): void {
    this.#machines.delete(name.toLowerCase())
    appendFileSync(this.#journal, `${JSON.stringify({ removed: name })}\n`)
  }

  #load(): void {
    for (const line of readFileSync(this.#journal, 'utf8').split('\n')) {
      if (line === '') continue
      let entry: Machine | { removed: string }
      try {
        entry = JSON.parse(line) as Machine | { removed: string }
      } catch {
        // The last line of a process that was killed while it wrote: nobody had been told of it.
        continue
      }
      if ('removed' in entry) this.#machines.delete(entry.removed.toLowerCase())
      else this.#machines.set(entry.name.toLowerCase(), entry)
    }
    this.#nextIp = 10 + this.#machines.size
  }

  #compact(): void {
    writeFileSync(`${this.#journal}.tmp`, this.all.map((machine) => `${JSON.stringify(machine)}\n`).join(''))
    renameSync(`${this.#journal}.tmp`, this.#journal)
  }
}
