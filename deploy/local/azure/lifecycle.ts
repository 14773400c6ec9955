import type { SimulatorConfig } from './config.ts'
import type { Faults } from './faults.ts'
import type { Kubelets } from './kubelet.ts'
import type { Machine, MachineBody, Machines } from './machines.ts'

/** A long-running operation, as `Azure-AsyncOperation` shows it. */
export interface Operation {
  readonly id: string
  status: 'InProgress' | 'Succeeded' | 'Failed'
  error?: { readonly code: string; readonly message: string }
}

/** What happens to VMs after a request was accepted, and what an operator of the simulator makes happen. */
export class MachineLifecycle {
  readonly #config: SimulatorConfig
  readonly #machines: Machines
  readonly #kubelets: Kubelets
  readonly #faults: Faults
  readonly operations = new Map<string, Operation>()

  constructor(config: SimulatorConfig, machines: Machines, kubelets: Kubelets, faults: Faults) {
    this.#config = config
    this.#machines = machines
    this.#kubelets = kubelets
    this.#faults = faults
  }

  /** After a restart: VMs go on where they stood. */
  resume(): void {
    for (const machine of this.#machines.all) {
      if (machine.state === 'Creating') this.#finishCreate(machine, this.#begin())
      else if (machine.state === 'Deleting') this.delete(machine)
      else if (machine.state === 'Succeeded' && machine.credential === undefined && machine.power === 'running')
        void this.#kubelets.boot(machine)
    }
  }

  create(name: string, body: MachineBody): { readonly machine: Machine; readonly operation: Operation } {
    const attempt = attemptOf(body)
    const machine = this.#machines.create(name, body)
    const failure = this.#faults.take('failAsync', attempt)
    machine.joins = this.#faults.take('neverJoins', attempt) === undefined
    const operation = this.#begin()
    if (failure !== undefined) {
      machine.failure = { code: failure.code, message: failure.message ?? `Allocation failed: ${failure.code}` }
      this.#machines.save(machine)
    }
    this.#finishCreate(machine, operation)
    return { machine, operation }
  }

  #finishCreate(machine: Machine, operation: Operation): void {
    after(this.#config.createMs ?? 0, () => {
      if (this.#machines.get(machine.name) !== machine || machine.state !== 'Creating') return
      machine.state = machine.failure === undefined ? 'Succeeded' : 'Failed'
      this.#machines.save(machine)
      operation.status = machine.failure === undefined ? 'Succeeded' : 'Failed'
      if (machine.failure !== undefined) operation.error = machine.failure
      else after(this.#config.bootMs ?? 0, () => void this.#kubelets.boot(machine))
    })
  }

  delete(machine: Machine): Operation {
    const operation = this.#begin()
    machine.state = 'Deleting'
    this.#machines.save(machine)
    void this.#kubelets.silence(machine)
    after(this.#config.deleteMs ?? 0, () => {
      if (this.#machines.get(machine.name) === machine) this.#machines.remove(machine.name)
      operation.status = 'Succeeded'
    })
    return operation
  }

  /** Stopped or frozen: the VM stays, its kubelet falls silent. */
  power(machine: Machine, power: 'stopped' | 'frozen'): void {
    machine.power = power
    this.#machines.save(machine)
    void this.#kubelets.silence(machine)
  }

  #begin(): Operation {
    const operation: Operation = { id: crypto.randomUUID(), status: 'InProgress' }
    this.operations.set(operation.id, operation)
    if (this.operations.size > 5000) this.operations.delete(this.operations.keys().next().value as string)
    return operation
  }
}

/** What a fault can be aimed at. */
export function attemptOf(body: MachineBody): {
  readonly sku: string
  readonly zone: string
  readonly capacityType: 'spot' | 'on-demand'
} {
  return {
    sku: body.properties.hardwareProfile.vmSize,
    zone: body.zones?.[0] ?? '0',
    capacityType: body.properties.priority === 'Spot' ? 'spot' : 'on-demand',
  }
}

function after(ms: number, work: () => void): void {
  if (ms > 0) setTimeout(work, ms)
  else setImmediate(work)
}
