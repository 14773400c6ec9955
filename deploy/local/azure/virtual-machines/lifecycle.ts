import type { Faults } from '../admin/faults.ts'
import type { Timing } from '../admin/settings.ts'
import { allocationMessage } from '../catalogue/capacity-pools.ts'
import type { VmSize } from '../catalogue/sku-catalogue.ts'
import type { Address } from '../network/addresses.ts'
import type { Resources } from '../resources.ts'
import type { SimulatorConfig } from '../server/config.ts'
import { sampleMs } from '../server/durations.ts'
import type { Operation, Operations } from '../server/operations.ts'
import { attemptOf } from './attempt.ts'
import { Evictions } from './evictions.ts'
import type { Kubelets } from './kubelet.ts'
import type { AksKubelet, AsyncFailure, Extension, Machine, MachineBody } from './machine.ts'
import type { Machines } from './machines.ts'

export interface LifecycleDeps {
  readonly config: SimulatorConfig
  readonly machines: Machines
  readonly operations: Operations
  readonly resources: Resources
  readonly kubelets: Kubelets
  readonly faults: Faults
  readonly newId: () => string
}

/** What happens to VMs after a request was accepted, and what an operator of the simulator makes happen. */
export class MachineLifecycle {
  readonly #deps: LifecycleDeps
  readonly #evictions: Evictions

  constructor(deps: LifecycleDeps) {
    this.#deps = deps
    this.#evictions = new Evictions(deps, (machine) => this.#takeBack(machine))
  }

  /** After a restart: operations go on, and VMs where they stood. */
  resume(): void {
    const { machines, operations, kubelets } = this.#deps
    for (const operation of operations.inFlight) this.#schedule(operation)
    for (const machine of machines.all) {
      const isWorkedOn = operations.inFlightOn(machine.vmId) !== undefined
      if (machine.state === 'Creating' && !isWorkedOn) this.#schedule(operations.begin('create', machine, { ms: 0 }))
      else if (machine.state === 'Deleting' && !isWorkedOn)
        this.#schedule(operations.begin('delete', machine, { ms: 0 }))
      else if (machine.state === 'Succeeded') {
        if (machine.power === 'running' && machine.joined !== true) void kubelets.boot(machine)
        this.#evictions.schedule(machine)
      }
    }
  }

  /** `failure`: Azure accepts the VM and then cannot make it. */
  create(input: {
    readonly name: string
    readonly body: MachineBody
    readonly size: VmSize
    readonly addresses: readonly Address[]
    readonly failure: AsyncFailure | undefined
    readonly aksKubelet?: AksKubelet
  }): { readonly machine: Machine; readonly operation: Operation } {
    const { machines, operations, faults } = this.#deps
    const attempt = attemptOf(input.body)
    const machine = machines.draft(input)
    const createMs = this.#ms('createMs', machine)
    this.#takeFaults(machine, createMs, input.failure)
    if (input.aksKubelet !== undefined) machine.aksKubelet = input.aksKubelet
    machine.joins = faults.take('neverJoins', attempt) === undefined
    machines.add(machine)
    const operation = operations.begin('create', machine, { ms: createMs })
    this.#schedule(operation)
    return { machine, operation }
  }

  /** A PUT over a VM that failed: Azure tries again to create it. */
  createAgain(machine: Machine, body: MachineBody, failure: AsyncFailure | undefined): Operation {
    const { machines, operations } = this.#deps
    machine.body = body
    machine.state = 'Creating'
    machine.power = 'running'
    delete machine.failure
    delete machine.deleteFailure
    delete machine.nicsReservedUntilMs
    const createMs = this.#ms('createMs', machine)
    this.#takeFaults(machine, createMs, failure)
    machines.save(machine)
    const operation = operations.begin('create', machine, { ms: createMs })
    this.#schedule(operation)
    return operation
  }

  #takeFaults(machine: Machine, createMs: number, failure: AsyncFailure | undefined): void {
    const { faults, config } = this.#deps
    const attempt = attemptOf(machine.body)
    const fault = faults.take('failAsync', attempt)
    if (failure !== undefined) machine.failure = failure
    else if (fault !== undefined) {
      const message = fault.message ?? allocationMessage(fault.code, attempt.sku, config.location)
      machine.failure = { code: fault.code, message }
    }
    if (faults.take('keepsNics', attempt) !== undefined) machine.keepsNics = true
    const eviction = attempt.capacityType === 'spot' ? faults.take('evict', attempt) : undefined
    if (eviction !== undefined) machine.evictAtMs = Date.now() + createMs + eviction.afterMs
  }

  /** Puts, updates or deletes an extension, as its state says. */
  changeExtension(machine: Machine, extension: Extension): Operation {
    const { machines, operations } = this.#deps
    machine.extensions = { ...machine.extensions, [extension.name.toLowerCase()]: extension }
    machines.save(machine)
    const operation = operations.begin('extension', machine, {
      ms: this.#ms('extensionMs', machine),
      extension: extension.name,
    })
    this.#schedule(operation)
    return operation
  }

  /** Changes tags and identity. A VM that is still being created, or that failed, keeps its state. */
  update(machine: Machine, change: Pick<MachineBody, 'tags' | 'identity'>): Operation {
    const { machines, operations } = this.#deps
    machine.body = { ...machine.body, ...change }
    const isSettled = machine.state === 'Succeeded'
    if (isSettled) machine.state = 'Updating'
    machines.save(machine)
    const operation = operations.begin('update', machine, { ms: this.#ms('updateMs', machine) })
    this.#schedule(operation)
    return operation
  }

  /** Restarts a VM that runs. Its kubelet reports another boot ID once it is up again. */
  restart(machine: Machine): Operation {
    const { machines, operations } = this.#deps
    machine.state = 'Updating'
    machines.save(machine)
    const operation = operations.begin('restart', machine, { ms: this.#ms('updateMs', machine) })
    this.#schedule(operation)
    return operation
  }

  /** Deletes a VM. What is going on with it is called off; a deletion that is going on already is shared. */
  delete(machine: Machine): Operation {
    const { machines, operations, kubelets, faults } = this.#deps
    for (const operation of operations.inFlight.filter(({ vmId }) => vmId === machine.vmId)) {
      if (operation.kind === 'delete') return operation
      operations.end(operation, 'Canceled', {
        code: 'OperationPreempted',
        message: 'A more recent operation has preempted this one.',
      })
    }
    machine.state = 'Deleting'
    const { code, message = 'The deletion failed.' } = faults.take('failDelete', attemptOf(machine.body)) ?? {}
    if (code === undefined) delete machine.deleteFailure
    else machine.deleteFailure = { code, message }
    machines.save(machine)
    void kubelets.silence(machine)
    const operation = operations.begin('delete', machine, { ms: this.#ms('deleteMs', machine) })
    this.#schedule(operation)
    return operation
  }

  /** Azure takes a spot VM back, after its notice if there is one. */
  evict(machine: Machine): void {
    this.#evictions.evict(machine)
  }

  /** The rate of evictions has changed. */
  rescheduleEvictions(): void {
    this.#evictions.reschedule()
  }

  /**
   * What becomes of an evicted VM is in its eviction policy; the default is Deallocate
   * (https://learn.microsoft.com/azure/virtual-machines/spot-vms#eviction-policy).
   */
  #takeBack(machine: Machine): void {
    if (machine.body.properties.evictionPolicy === 'Delete') this.delete(machine)
    else this.power(machine, 'deallocated')
  }

  /** Stopped, deallocated or frozen: the VM stays, its kubelet falls silent. */
  power(machine: Machine, power: 'stopped' | 'deallocated' | 'frozen'): void {
    machine.power = power
    delete machine.evictAtMs
    delete machine.preemption
    this.#deps.machines.save(machine)
    void this.#deps.kubelets.silence(machine)
  }

  /** Ends all that is in flight at once, as its time would have. */
  finish(): void {
    for (const operation of this.#deps.operations.inFlight) this.#end(operation)
  }

  #ms(subject: keyof Timing, { name }: Machine): number {
    const { config } = this.#deps
    return sampleMs(config[subject], config.seed ?? 1, `${subject}/${name.toLowerCase()}`)
  }

  #schedule(operation: Operation): void {
    after(operation.dueMs - Date.now(), () => this.#end(operation))
  }

  #end(operation: Operation): void {
    if (operation.status !== 'InProgress') return
    const machine = this.#deps.machines.get(operation.vm)
    if (machine?.vmId === operation.vmId) this.#complete(operation, machine)
    else this.#deps.operations.end(operation, operation.kind === 'delete' ? 'Succeeded' : 'Canceled')
  }

  /** The VM is written down before the operation: a kill between the two does this again. */
  #complete(operation: Operation, machine: Machine): void {
    const { machines, operations, resources, kubelets, config, newId } = this.#deps
    if (operation.kind === 'delete') {
      if (machine.deleteFailure !== undefined) {
        machine.state = 'Failed'
        machine.power = 'stopped'
        machines.save(machine)
        return operations.end(operation, 'Failed', machine.deleteFailure)
      }
      machines.remove(machine, resources.leftovers(machine))
      operations.end(operation, 'Succeeded')
      return
    }
    if (operation.kind === 'extension') return this.#completeExtension(operation, machine)
    if (operation.kind === 'update' || operation.kind === 'restart') {
      if (machine.state === 'Updating') {
        machine.state = 'Succeeded'
        machine.provisionedAt = new Date().toISOString()
        if (operation.kind === 'restart') machine.bootId = newId()
        machines.save(machine)
      }
      operations.end(operation, 'Succeeded')
      if (operation.kind === 'restart') after(this.#ms('bootMs', machine), () => void kubelets.reportBoot(machine))
      return
    }
    machine.state = machine.failure === undefined ? 'Succeeded' : 'Failed'
    machine.provisionedAt = new Date().toISOString()
    if (machine.failure !== undefined) machine.nicsReservedUntilMs = Date.now() + (config.nicReservationMs ?? 0)
    machines.save(machine)
    operations.end(operation, machine.state, machine.failure)
    if (machine.state === 'Failed') return
    after(this.#ms('bootMs', machine), () => void kubelets.boot(machine))
    this.#evictions.schedule(machine)
  }

  #completeExtension(operation: Operation, machine: Machine): void {
    const { machines, operations } = this.#deps
    const { [operation.extension?.toLowerCase() ?? '']: extension, ...others } = machine.extensions ?? {}
    if (extension === undefined) return operations.end(operation, 'Canceled')
    const state = extension.failure === undefined ? 'Succeeded' : 'Failed'
    machine.extensions =
      extension.state === 'Deleting' ? others : { ...others, [extension.name.toLowerCase()]: { ...extension, state } }
    machines.save(machine)
    operations.end(operation, extension.state === 'Deleting' ? 'Succeeded' : state, extension.failure)
  }
}

function after(ms: number, work: () => void): void {
  if (ms > 0) setTimeout(work, ms)
  else setImmediate(work)
}
