import { azureConfig } from './azure-config.ts'

type Json = Readonly<Record<string, unknown>>

/** What of a resource group goes with a machine. */
interface NodeResourceGroup {
  readonly writes: string[]
  put(kind: 'virtualMachines', name: string, resource: Json): void
  remove(kind: 'virtualMachines', name: string): void
  becomes(name: string, state: string): void
}

interface FakeMachine {
  readonly name: string
  readonly vm: string
  readonly tags: Readonly<Record<string, string>>
  readonly createdAt: string
  state: string
  /** What a PUT asked for. */
  readonly body?: MachinePut
  error?: Json
}

interface MachinePut extends Json {
  readonly zones?: readonly string[]
  readonly properties: Json & { readonly tags: Readonly<Record<string, string>> }
}

/** Headers of a PUT that AKS heeds. */
export interface PutHeaders {
  readonly ifNoneMatch: string | undefined
  readonly ifMatch: string | undefined
  readonly batch: string | undefined
}

const machinesPool = 'aksmanagedap'

const cluster = `/subscriptions/${azureConfig.subscriptionId}/resourceGroups/${azureConfig.clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${azureConfig.clusterName}`

/** The id of a machine of the cluster's one pool of machines. */
export const machineId = (name: string) => `${cluster}/agentPools/${machinesPool}/machines/${name}`

/** The name of a machine's VM. */
export const machineVm = (name: string) => `aks-${machinesPool}-${name}-12345678-vm`

/** The tags of a machine that Karpenter made for a NodeClaim. */
export const machineTags = (claim: string): Readonly<Record<string, string>> => ({
  'karpenter.azure.com_cluster': azureConfig.clusterName,
  'karpenter.sh_nodepool': 'default',
  'karpenter.azure.com_aksmachine_nodeclaim': claim,
})

/** An AKS cluster in memory, with one pool of machines. */
export class FakeAks {
  napMode = 'Manual'
  /** How long a machine takes to go once its deletion was accepted. */
  deletesTakeMs = 0
  /** The next deletions that are accepted and then given up. */
  givesUp = 0
  /** The answer to all requests; undefined: none is refused. */
  refusal: { readonly status: number; readonly code: string } | undefined
  /** The body of all answers, as something between may send it; undefined: the cluster answers. */
  strange: unknown
  requests = 0
  /** In which state a machine is after its PUT was accepted. */
  createdAs = 'Succeeded'
  /** Answers to the next PUTs; undefined: that one is accepted. */
  readonly puts: ({ readonly status: number; readonly body: unknown } | undefined)[] = []
  readonly machines = new Map<string, FakeMachine>()
  readonly #group: NodeResourceGroup

  constructor(group: NodeResourceGroup) {
    this.#group = group
  }

  /** A machine with its VM. */
  put(name: string, { tags = machineTags(name), createdAt = '2025-01-01T00:00:00Z' } = {}): void {
    const vm = machineVm(name)
    this.machines.set(name, { name, vm, tags, createdAt, state: 'Succeeded' })
    this.#group.put('virtualMachines', vm, { tags, provisioningState: 'Succeeded' })
  }

  /** Sets the state of a machine and its VM; of a failed one, what AKS says of it. */
  becomes(name: string, state: string, error?: Json): void {
    const machine = this.machines.get(name)
    if (machine === undefined) throw new Error(`no machine ${name}`)
    this.machines.set(name, { ...machine, state, ...(error === undefined ? {} : { error }) })
    this.#group.becomes(machine.vm, state)
  }

  answer(
    method: string,
    { pathname }: URL,
    body: Json,
    headers?: PutHeaders,
  ): { readonly status: number; readonly body?: unknown } {
    this.requests += 1
    if (this.strange !== undefined) return ok(this.strange)
    if (this.refusal !== undefined) return refused(this.refusal.status, this.refusal.code, 'no')
    const rest = decodeURIComponent(pathname).slice(cluster.length)
    if (!decodeURIComponent(pathname).startsWith(cluster))
      return refused(404, 'ResourceNotFound', `The Resource '${pathname}' was not found.`)
    if (rest === '') return ok({ properties: { nodeProvisioningProfile: { mode: this.napMode } } })
    if (rest === '/agentPools')
      return ok({
        value: [
          { name: 'system', properties: { mode: 'System' } },
          { name: machinesPool, properties: { mode: 'Machines' } },
        ],
      })
    if (!rest.startsWith(`/agentPools/${machinesPool}/`)) return refused(404, 'NotFound', 'no such pool')
    if (rest.endsWith('/machines')) return ok({ value: [...this.machines.values()].map(shown) })
    if (method === 'POST') return this.#delete((body['machineNames'] as readonly string[])[0] ?? '')
    const name = rest.slice(rest.lastIndexOf('/') + 1)
    if (method === 'PUT') return this.#put(name, body as MachinePut, headers)
    const machine = this.machines.get(name)
    return machine === undefined ? refused(404, 'NotFound', 'no such machine') : ok(shown(machine))
  }

  #put(name: string, body: MachinePut, headers?: PutHeaders) {
    this.#group.writes.push(`PUT machines/${name}`)
    const refusal = this.puts.shift()
    if (refusal !== undefined) return refusal
    if (headers?.ifNoneMatch === '*' && this.machines.has(name)) return refused(412, 'ConditionNotMet', 'it exists')
    const { batchMachines } = JSON.parse(headers?.batch ?? '{}') as { readonly batchMachines?: readonly BatchEntry[] }
    const wanted = batchMachines ?? [{ machineName: name, zones: body.zones ?? [], tags: body.properties.tags }]
    for (const { machineName, zones, tags } of wanted) {
      this.put(machineName, { tags, createdAt: new Date().toISOString() })
      const made = this.machines.get(machineName)
      if (made !== undefined) this.machines.set(machineName, { ...made, body: { ...body, zones } })
      this.becomes(machineName, this.createdAs)
    }
    return ok(shown(this.machines.get(name) as FakeMachine))
  }

  #delete(name: string) {
    this.#group.writes.push(`POST deleteMachines/${name}`)
    const machine = this.machines.get(name)
    if (machine === undefined) return refused(400, 'InvalidParameter', 'Cannot find any valid machines in the pool.')
    if (this.givesUp > 0) {
      this.givesUp -= 1
      return { status: 202 }
    }
    machine.state = 'Deleting'
    const go = () => {
      this.#group.remove('virtualMachines', machine.vm)
      this.machines.delete(name)
    }
    if (this.deletesTakeMs === 0) go()
    else setTimeout(go, this.deletesTakeMs)
    return { status: 202 }
  }
}

interface BatchEntry {
  readonly machineName: string
  readonly zones: readonly string[]
  readonly tags: Readonly<Record<string, string>>
}

function shown({ name, vm, tags, createdAt, state, body, error }: FakeMachine): Json {
  const { subscriptionId, nodeResourceGroup } = azureConfig
  return {
    id: machineId(name),
    name,
    ...(body?.zones === undefined ? {} : { zones: body.zones }),
    properties: {
      ...body?.properties,
      provisioningState: state,
      resourceId: `/subscriptions/${subscriptionId}/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Compute/virtualMachines/${vm}`,
      tags,
      status: { creationTimestamp: createdAt, ...(error === undefined ? {} : { provisioningError: error }) },
    },
  }
}

const ok = (body: unknown) => ({ status: 200, body })
const refused = (status: number, code: string, message: string) => ({ status, body: { error: { code, message } } })
