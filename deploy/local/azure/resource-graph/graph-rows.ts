import type { Resources } from '../resources.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { Machines } from '../virtual-machines/machines.ts'
import type { Row } from './graph-query.ts'

/** What Resource Graph knows: VMs, NICs and disks, as they were as long ago as its lag says. */
export class GraphRows {
  readonly #config: SimulatorConfig
  readonly #machines: Machines
  readonly #resources: Resources
  /** What it knows of each VM and of what hangs on it; kept only once there is a lag. */
  #known = new Map<string, readonly Row[]>()
  #changes: { readonly atMs: number; readonly vmId: string; readonly rows: readonly Row[] }[] = []

  constructor(config: SimulatorConfig, machines: Machines, resources: Resources) {
    this.#config = config
    this.#machines = machines
    this.#resources = resources
    machines.watch((machine, change) => {
      if (this.#lagMs === 0) return
      const rows = change === 'removed' ? [] : this.#rowsOf(machine)
      this.#changes.push({ atMs: Date.now(), vmId: machine.vmId, rows })
    })
    this.reset()
  }

  /** Called when the lag changes: what is there now is known, and what changes from now on comes later. */
  reset(): void {
    this.#changes = []
    this.#known = new Map(
      this.#lagMs === 0 ? [] : this.#machines.all.map((machine) => [machine.vmId, this.#rowsOf(machine)] as const),
    )
  }

  get all(): readonly Row[] {
    return [...this.#vmRows(), ...this.#leftoverRows()]
  }

  get #lagMs(): number {
    return this.#config.graphLagMs ?? 0
  }

  #vmRows(): readonly Row[] {
    if (this.#lagMs === 0) return this.#machines.all.flatMap((machine) => this.#rowsOf(machine))
    const known = Date.now() - this.#lagMs
    const ripe = this.#changes.findIndex(({ atMs }) => atMs > known)
    for (const { vmId, rows } of this.#changes.splice(0, ripe === -1 ? this.#changes.length : ripe)) {
      if (rows.length === 0) this.#known.delete(vmId)
      else this.#known.set(vmId, rows)
    }
    return [...this.#known.values()].flat()
  }

  /** What a VM left is not delayed once the VM itself is gone from here: both would show the same NIC. */
  #leftoverRows(): readonly Row[] {
    const shown = new Set([...this.#known.values()].flat().map(({ id }) => id))
    return (['networkInterfaces', 'disks'] as const)
      .flatMap((type) => this.#machines.leftovers(type))
      .map(({ resource }) => this.#row(resource))
      .filter(({ id }) => !shown.has(id))
  }

  #rowsOf(machine: Machines['all'][number]): readonly Row[] {
    const all = [this.#resources.vm(machine), ...this.#resources.nics(machine), ...this.#resources.disks(machine)]
    return all.map((resource) => this.#row(resource))
  }

  /** Type and resource group are in lower case here. */
  #row(resource: Record<string, unknown>): Row {
    const { subscriptionId, nodeResourceGroup } = this.#config
    return {
      ...resource,
      type: String(resource['type']).toLowerCase(),
      resourceGroup: nodeResourceGroup.toLowerCase(),
      subscriptionId,
      tags: resource['tags'] ?? null,
    }
  }
}
