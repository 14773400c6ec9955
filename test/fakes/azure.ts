import type { AzureClient } from '../../activities/azure/arm/client.ts'
import { FakeCapacityGroups } from '../arm/fake-capacity-groups.ts'
import { fakeArm } from '../fake-arm.ts'
import { FakeAks, type PutHeaders } from './aks.ts'
import { azureConfig } from './azure-config.ts'

type Json = Readonly<Record<string, unknown>>

/** A VM, NIC or disk as ARM shows it. */
export interface FakeResource {
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
  readonly properties: Readonly<Record<string, unknown>>
}

/** An answer of ARM that is an error. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message?: string
}

/** A request as an interceptor sees it, such as `PUT virtualMachines/aks-a`; what it returns is the answer. */
export type Interceptor = (
  request: string,
  body: unknown,
) => Refusal | { readonly status: number; readonly body: unknown } | undefined | void

const group = `/subscriptions/${azureConfig.subscriptionId}/resourceGroups/${azureConfig.nodeResourceGroup}`
const kinds = ['virtualMachines', 'networkInterfaces', 'disks'] as const
type Kind = (typeof kinds)[number]

const idOf = (kind: Kind, name: string) =>
  `${group}/providers/Microsoft.${kind === 'networkInterfaces' ? 'Network' : 'Compute'}/${kind}/${name}`

/** The node resource group in memory: VMs with their NICs and OS disks, which go with them. */
export class FakeAzure {
  /** In which state a VM is after its PUT was accepted. */
  createdAs = 'Succeeded'
  /** How long a VM takes to go once its deletion was accepted. */
  deletesTakeMs = 0
  /** Requests that change something, in their order. */
  readonly writes: string[] = []
  readonly #resources: Readonly<Record<Kind, Map<string, FakeResource>>> = {
    virtualMachines: new Map(),
    networkInterfaces: new Map(),
    disks: new Map(),
  }
  readonly #interceptors: Interceptor[] = []
  /** AKS, with its cluster and machines; their VMs are in the node resource group. */
  readonly aks = new FakeAks(this)
  readonly groups = new FakeCapacityGroups(this)
  /** Carries each request to this resource group: a simulated network may lose it, or its answer. */
  carry: <T>(request: string, effect: () => T) => T | Promise<T> = (_, effect) => effect()
  readonly client: AzureClient = fakeArm(({ method, url, body, headers }) =>
    this.carry(`${method} ${new URL(url).pathname.split('/').slice(-2).join('/')}`, () =>
      this.#answer(method, new URL(url), typeof body === 'string' ? (JSON.parse(body) as Json) : {}, {
        ifNoneMatch: headers.get('if-none-match'),
        ifMatch: headers.get('if-match'),
        batch: headers.get('batchputmachine'),
      }),
    ),
  )

  /** Sees each request before it takes effect. Returns what ends it. */
  intercept(see: Interceptor): () => void {
    this.#interceptors.push(see)
    return () => void this.#interceptors.splice(this.#interceptors.indexOf(see), 1)
  }

  /** Refuses the next PUT of a VM, or the next few. */
  refusePuts(...refusals: readonly Refusal[]): void {
    const left = [...refusals]
    this.intercept((request) => (request.startsWith('PUT virtualMachines/') ? left.shift() : undefined))
  }

  /** Puts a resource there, as somebody else or an earlier attempt has made it. */
  put(
    kind: Kind,
    name: string,
    { tags = {}, ...properties }: { readonly tags?: Readonly<Record<string, string>> } & Json = {},
  ): void {
    this.#resources[kind].set(name, { name, tags, properties })
  }

  get(kind: Kind, name: string): FakeResource | undefined {
    return this.#resources[kind].get(name)
  }

  /** Names of all resources of a kind, sorted. */
  names(kind: Kind): readonly string[] {
    return [...this.#resources[kind].keys()].sort()
  }

  remove(kind: Kind, name: string): void {
    this.#resources[kind].delete(name)
  }

  /** Sets the state of a VM; of a failed one, what its statuses say. */
  becomes(
    name: string,
    provisioningState: string,
    failure?: { readonly code: string; readonly message?: string },
  ): void {
    const vm = this.#resources.virtualMachines.get(name)
    if (vm === undefined) throw new Error(`no VM ${name}`)
    const statuses =
      failure === undefined
        ? []
        : [{ code: `ProvisioningState/failed/${failure.code}`, message: failure.message ?? failure.code }]
    this.#resources.virtualMachines.set(name, {
      ...vm,
      properties: { ...vm.properties, provisioningState, instanceView: { statuses } },
    })
  }

  #answer(method: string, url: URL, body: Json, headers: PutHeaders) {
    const { ifNoneMatch, ifMatch } = headers
    if (url.pathname.includes('/managedClusters/')) return this.aks.answer(method, url, body, headers)
    if (url.pathname.includes('/capacityReservationGroups/')) return this.groups.answer(url)
    const [, kind = '', name = '', action = ''] =
      /\/(?:Microsoft\.\w+)\/(\w+)\/?([^/]*)(\/restart|\/extensions\/[^/]+)?$/.exec(decodeURIComponent(url.pathname)) ??
      []
    const request = `${method} ${kind}/${name}${action}`
    if (method !== 'GET') this.writes.push(request)
    const ended = this.#intercepted(request, body)
    if (ended !== undefined) return ended
    if (!isKind(kind)) return { status: 200, body: { value: networkLists[kind] ?? [] } }
    if (name === '')
      return { status: 200, body: { value: [...this.#resources[kind].values()].map((one) => shown(kind, one)) } }
    // Extensions are seen by interceptors alone.
    if (action.startsWith('/extensions/')) return { status: 200, body: {} }
    const known = this.#resources[kind].get(name)
    if (method === 'PUT') return this.#create(name, body, known !== undefined && ifNoneMatch === '*')
    if (known === undefined) return method === 'DELETE' ? { status: 204 } : refused(notFound(kind, name))
    if (method === 'PATCH' && !this.#change(kind, known, { body, ifMatch }))
      return refused({ status: 412, code: 'PreconditionFailed', message: 'the VM was changed' })
    if (method === 'DELETE') return this.#delete(kind, known)
    return { status: 200, body: shown(kind, this.#resources[kind].get(name) as FakeResource) }
  }

  /** Replaces the tags. Returns false where the resource is another than the one that was read. */
  #change(kind: Kind, known: FakeResource, { body, ifMatch }: { body: Json; ifMatch: string | undefined }): boolean {
    if (ifMatch !== undefined && ifMatch !== etagOf(known)) return false
    this.#resources[kind].set(known.name, { ...known, tags: { ...(body['tags'] as FakeResource['tags']) } })
    return true
  }

  #intercepted(request: string, body: Json) {
    for (const see of this.#interceptors) {
      const refusal = see(request, body)
      if (refusal !== undefined) return 'body' in refusal ? refusal : refused(refusal)
    }
    return undefined
  }

  #create(name: string, body: Json, isTaken: boolean) {
    if (isTaken) return refused({ status: 412, code: 'PreconditionFailed', message: 'the VM exists' })
    const { tags = {}, properties = {} } = body as { tags?: FakeResource['tags']; properties?: Json }
    const [nic] = ((properties['networkProfile'] as Json)['networkInterfaceConfigurations'] ?? []) as { name: string }[]
    const { osDisk } = properties['storageProfile'] as { osDisk: { name: string } }
    const vm: FakeResource = {
      name,
      tags,
      properties: {
        ...properties,
        zones: body['zones'],
        provisioningState: this.createdAs,
        timeCreated: new Date().toISOString(),
        networkProfile: { networkInterfaces: [{ id: idOf('networkInterfaces', nic?.name ?? '') }] },
      },
    }
    this.#resources.virtualMachines.set(name, vm)
    if (nic !== undefined)
      this.put('networkInterfaces', nic.name, { tags, virtualMachine: { id: idOf('virtualMachines', name) } })
    this.put('disks', osDisk.name, { diskState: 'Attached', managedBy: idOf('virtualMachines', name) })
    return { status: 201, body: shown('virtualMachines', vm) }
  }

  /** A VM takes its NICs and its OS disk along. */
  #delete(kind: Kind, known: FakeResource) {
    const go = () => {
      this.#resources[kind].delete(known.name)
      if (kind !== 'virtualMachines') return
      const id = idOf(kind, known.name)
      for (const [name, { properties }] of this.#resources.networkInterfaces)
        if ((properties['virtualMachine'] as Json | undefined)?.['id'] === id)
          this.#resources.networkInterfaces.delete(name)
      for (const [name, { properties }] of this.#resources.disks)
        if (properties['managedBy'] === id) this.#resources.disks.delete(name)
    }
    if (kind !== 'virtualMachines' || this.deletesTakeMs === 0) go()
    else {
      this.becomes(known.name, 'Deleting')
      setTimeout(go, this.deletesTakeMs)
    }
    return { status: 202 }
  }
}

const isKind = (kind: string): kind is Kind => (kinds as readonly string[]).includes(kind)

const networkLists: Readonly<Record<string, readonly Json[]>> = {
  networkSecurityGroups: [{ id: `${group}/nsg`, name: 'aks-agentpool-12345678-nsg' }],
  loadBalancers: [
    {
      name: 'kubernetes',
      properties: { backendAddressPools: [{ id: `${group}/pool`, name: 'kubernetes' }] },
    },
  ],
}

function shown(kind: Kind, { name, tags, properties: { zones, ...properties } }: FakeResource): Json {
  const isVm = kind === 'virtualMachines'
  return {
    id: idOf(kind, name),
    name,
    location: 'westus2',
    tags,
    ...(isVm && zones !== undefined ? { zones } : {}),
    ...(isVm ? { etag: etagOf({ name, tags, properties }) } : {}),
    properties,
  }
}

const etagOf = ({ name, tags }: FakeResource) => JSON.stringify([name, tags])

/** What ARM says of a resource that does not exist. */
function notFound(kind: string, name: string): Refusal {
  const message = `The Resource 'Microsoft.Compute/${kind}/${name}' under resource group '${azureConfig.nodeResourceGroup}' was not found.`
  return { status: 404, code: 'ResourceNotFound', message }
}

function refused({ status, code, message = code }: Refusal) {
  return { status, body: { error: { code, message } } }
}
