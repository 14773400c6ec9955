import type { MadeVm } from '../azure/admin/admin.ts'
import { azureIds } from '../cluster.ts'
import type { LocalCluster } from '../local-cluster.ts'
import type { Operator } from '../operator.ts'
import type { NodeParts } from './bare-node.ts'
import { startProxy } from './node.ts'
import { VirtualMachine } from './virtual-machine.ts'

interface FleetInput extends NodeParts {
  readonly cluster: LocalCluster
  readonly operator: Operator
  readonly archives: readonly string[]
  /** Names of VMs that are not booted. */
  readonly isHeld: (name: string) => boolean
  readonly say: (line: string) => void
}

export interface Node {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels: Readonly<Record<string, string>>
  }
  readonly spec: {
    readonly providerID?: string
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[]
  }
  readonly status: {
    readonly capacity?: Readonly<Record<string, string>>
    readonly allocatable?: Readonly<Record<string, string>>
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly nodeInfo?: Readonly<Record<string, string>>
  }
}

interface State {
  readonly virtualMachines: readonly { readonly name: string; readonly state: string; readonly power: string }[]
}

/** What a kubelet with a cloud provider of its own keeps pods away with, until the provider knows its Node. */
const uninitialized = 'node.cloudprovider.kubernetes.io/uninitialized'

/**
 * The VMs of the simulator, each as a node with a real kubelet: boots those that there are and ends those that are gone, and does to their Nodes what AKS
 * does in each cluster (cloud-node-manager, CNI, kube-proxy).
 */
export class Fleet {
  /** Why VMs could not be booted, by name. */
  readonly refusals = new Map<string, string>()
  readonly #input: FleetInput
  /** VMs of the simulator that were booted or refused. */
  readonly #seen = new Set<string>()
  readonly #running = new Map<string, VirtualMachine>()
  /** VMs that are not booted, by name. */
  readonly held = new Map<string, MadeVm>()
  /** Nodes as their kubelets registered them, by name. */
  readonly registered = new Map<string, Node>()
  /** UIDs of Nodes that have what AKS gives them. */
  readonly #served = new Set<string>()
  #number = 0
  #isEnded = false
  #rounds: Promise<void> = Promise.resolve()

  constructor(input: FleetInput) {
    this.#input = input
  }

  /** The simulator's own kubelets stay off from now on. */
  async start(): Promise<void> {
    await this.#input.operator.simulator('POST', '/faults', { kind: 'neverJoins', forMs: 86_400_000 })
    this.#rounds = this.#watch()
  }

  /** Those that run, by name. */
  get machines(): ReadonlyMap<string, VirtualMachine> {
    return this.#running
  }

  /** Boots a VM under a name, which the simulator need not know. Errors: why it cannot be booted here. */
  async boot(name: string, made: MadeVm): Promise<VirtualMachine> {
    this.#number += 1
    const vm = await VirtualMachine.boot({ ...this.#input, name, made, number: this.#number })
    this.#running.set(name, vm)
    return vm
  }

  /** Ends one, as Azure does. */
  async powerOff(name: string): Promise<void> {
    const vm = this.#running.get(name)
    this.#running.delete(name)
    await vm?.powerOff()
  }

  async end(): Promise<void> {
    this.#isEnded = true
    await this.#rounds
    for (const name of this.#running.keys()) await this.powerOff(name)
    await this.#input.supervisor.stopAll()
  }

  async #watch(): Promise<void> {
    while (!this.#isEnded) {
      await this.#round().catch((error: unknown) => this.#input.say(`VMs: ${String(error).slice(0, 300)}`))
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
  }

  async #round(): Promise<void> {
    const { operator } = this.#input
    const { virtualMachines } = await operator.simulator<State>('GET', '/state')
    const wanted = virtualMachines.filter(({ state, power }) => state !== 'Creating' && power === 'running')
    for (const { name } of wanted) if (!this.#seen.has(name)) await this.#bootMade(name)
    const names = new Set(wanted.map(({ name }) => name))
    for (const [name, vm] of this.#running) {
      if (this.#seen.has(name) && !names.has(name)) await this.powerOff(name)
      else if (this.#seen.has(name)) await this.#serve(vm)
    }
  }

  async #bootMade(name: string): Promise<void> {
    const { operator, isHeld, say } = this.#input
    this.#seen.add(name)
    try {
      const made = await operator.simulator<MadeVm>('GET', `/vms/${name}`)
      if (isHeld(name)) {
        this.held.set(name, made)
        return
      }
      const vm = await this.boot(name, made)
      say(`${name}: booted, a ${vm.made.size.name} at ${vm.address}`)
    } catch (error) {
      this.refusals.set(name, (error as Error).message)
      say(`${name}: not booted: ${(error as Error).message}`)
    }
  }

  /** Does to the Node of a VM what AKS does, once. */
  async #serve(vm: VirtualMachine): Promise<void> {
    const { operator, cluster, say } = this.#input
    const { name } = vm.bare
    const node = await operator.api<Node>('GET', `/api/v1/nodes/${name}`).catch(() => undefined)
    if (node === undefined || this.#served.has(node.metadata.uid)) return
    if (!this.registered.has(name)) this.registered.set(name, node)
    const { body } = vm.made
    const zone = body.zones?.[0]
    const place = zone === undefined ? '0' : `${body.location}-${zone}`
    const type = body.properties.hardwareProfile.vmSize
    const labels = {
      'node.kubernetes.io/instance-type': type,
      'topology.kubernetes.io/region': body.location,
      'topology.kubernetes.io/zone': place,
      'beta.kubernetes.io/instance-type': type,
      'failure-domain.beta.kubernetes.io/region': body.location,
      'failure-domain.beta.kubernetes.io/zone': place,
    }
    const group = azureIds.nodeResourceGroup.toLowerCase()
    const providerID = `azure:///subscriptions/${azureIds.subscriptionId}/resourceGroups/${group}/providers/Microsoft.Compute/virtualMachines/${name}`
    const addresses = [
      { type: 'InternalIP', address: vm.address },
      { type: 'Hostname', address: name },
    ]
    const { metadata, spec } = await operator.api<Node>('PATCH', `/api/v1/nodes/${name}/status`, {
      status: { addresses },
    })
    const taints = spec.taints?.filter(({ key }) => key !== uninitialized) ?? []
    const { resourceVersion } = metadata
    // Joiner may have written meanwhile; the next round tries again.
    await operator.api('PATCH', `/api/v1/nodes/${name}`, {
      metadata: { labels, resourceVersion },
      spec: { providerID, taints },
    })
    await vm.giveNetwork()
    await startProxy(vm.bare, cluster)
    this.#served.add(node.metadata.uid)
    say(`${name}: its Node is there, and has provider id, network and kube-proxy`)
  }
}
