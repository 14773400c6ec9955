import { isSameText } from '../../../../core/values/texts.ts'
import type { Journal, Table } from '../server/journal.ts'
import { SortedMap } from '../server/sorted-map.ts'
import type { Machine } from '../virtual-machines/machine.ts'
import type { Machines } from '../virtual-machines/machines.ts'

/** An agent pool of an AKS cluster, as its PUT made it. */
export interface AgentPool {
  readonly cluster: string
  readonly name: string
  readonly properties: Readonly<Record<string, unknown>>
  /** Its deletion is remembered, since the description of its cluster may name it. */
  readonly isDeleted?: true
}

/** The body of a PUT of an AKS machine, as far as the simulator reads it. */
export interface AksMachineBody {
  readonly zones?: readonly string[]
  readonly properties: {
    readonly hardware?: { readonly vmSize?: string; readonly [key: string]: unknown }
    readonly operatingSystem?: {
      readonly osSKU?: string
      readonly osDiskSizeGB?: number
      readonly [key: string]: unknown
    }
    readonly kubernetes?: {
      readonly nodeLabels?: Readonly<Record<string, string>>
      readonly nodeTaints?: readonly string[]
      readonly nodeInitializationTaints?: readonly string[]
      readonly maxPods?: number
      readonly orchestratorVersion?: string
      readonly [key: string]: unknown
    }
    readonly network?: { readonly vnetSubnetID?: string; readonly [key: string]: unknown }
    readonly mode?: 'System' | 'User'
    readonly priority?: 'Spot' | 'Regular'
    readonly nodeImageVersion?: string
    readonly tags?: Readonly<Record<string, string>>
    readonly [key: string]: unknown
  }
}

/** A machine of an agent pool. Its state is that of its VM. */
export interface AksMachine {
  readonly cluster: string
  readonly pool: string
  readonly name: string
  /** What a PUT changes is replaced whole. */
  body: AksMachineBody
  /** Name and id of its VM in the node resource group. */
  readonly vm: string
  readonly vmId: string
  readonly createdAt: string
  eTag: string
  /** Its deletion was asked for. It goes together with its VM. */
  isDeleting?: boolean
}

/** Agent pools and their machines, on disk. A machine whose deletion was asked for is gone as soon as its VM is. */
export class AgentPools {
  readonly #pools: Table<AgentPool>
  readonly #machines: Table<AksMachine>
  readonly #vms: Machines

  constructor({ journal, vms }: { readonly journal: Journal; readonly vms: Machines }) {
    this.#pools = journal.table('agentPools')
    this.#machines = journal.table('aksMachines')
    this.#vms = vms
    vms.watch(({ vmId }, change) => {
      if (change === 'removed') this.#forget(vmId)
    })
    // A kill between the end of a VM and that of its machine.
    for (const machine of this.#machines.all) this.#forgetIfGone(machine)
  }

  pool(cluster: string, name: string): AgentPool | undefined {
    return this.#pools.get(`${cluster}/${name}`)
  }

  poolsOf(cluster: string): readonly AgentPool[] {
    return this.#pools.all.filter((pool) => isSameText(pool.cluster, cluster))
  }

  putPool(pool: AgentPool): void {
    this.#pools.put(`${pool.cluster}/${pool.name}`, pool)
  }

  get machines(): readonly AksMachine[] {
    return this.#machines.all
  }

  machine({ cluster, name: pool }: AgentPool, name: string): AksMachine | undefined {
    return this.#machines.get(`${cluster}/${pool}/${name}`)
  }

  /** A pool's machines by name. */
  machinesOf(pool: AgentPool): SortedMap<AksMachine> {
    const found = new SortedMap<AksMachine>()
    for (const machine of this.#machines.all)
      if (isSameText(machine.cluster, pool.cluster) && isSameText(machine.pool, pool.name))
        found.set(machine.name, machine)
    return found
  }

  save(machine: AksMachine): void {
    this.#machines.put(keyOf(machine), machine)
  }

  /** Notes that the deletion of a machine was asked for. */
  markDeleting(machine: AksMachine): void {
    machine.isDeleting = true
    this.save(machine)
    this.#forgetIfGone(machine)
  }

  /** Its VM; undefined when that is gone, or another one has its name. */
  vmOf({ vm, vmId }: Pick<AksMachine, 'vm' | 'vmId'>): Machine | undefined {
    const found = this.#vms.get(vm)
    return found?.vmId === vmId ? found : undefined
  }

  #forget(vmId: string): void {
    const machine = this.#machines.all.find((one) => one.vmId === vmId && one.isDeleting === true)
    if (machine !== undefined) this.#machines.delete(keyOf(machine))
  }

  #forgetIfGone(machine: AksMachine): void {
    if (machine.isDeleting === true && this.vmOf(machine) === undefined) this.#machines.delete(keyOf(machine))
  }
}

function keyOf({ cluster, pool, name }: AksMachine): string {
  return `${cluster}/${pool}/${name}`
}
