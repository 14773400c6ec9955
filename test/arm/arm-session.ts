import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { azureIds, clusterName, subnetId } from '../../deploy/local/cluster.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'

const group = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${azureIds.nodeResourceGroup}`

const vmPath = (name: string) => `${group}/providers/Microsoft.Compute/virtualMachines/${name}?api-version=2024-11-01`

const cluster = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${clusterName}-group/providers/Microsoft.ContainerService/managedClusters/${clusterName}`

const capacityVersion = 'api-version=2024-03-01'
const capacityGroup = (name: string) =>
  `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${clusterName}-group/providers/Microsoft.Compute/capacityReservationGroups/${name}`

interface ArmRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

type Send = (
  method: 'GET' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  request: ArmRequest,
) => Promise<{ readonly status: number; readonly text: string }>

interface VirtualMachineOnWire {
  readonly properties: { readonly storageProfile: { readonly osDisk: Readonly<Record<string, unknown>> } }
}

/** Requests to the simulated ARM by somebody else than Joiner, with Joiner's identity. */
export class ArmSession {
  readonly #send: Send
  /** The access token, as Joiner gets them. */
  readonly token: string
  readonly #close: () => Promise<void>

  /** `send` carries requests to ARM. */
  constructor(token: string, send: Send, close = () => Promise.resolve()) {
    this.token = token
    this.#send = send
    this.#close = close
  }

  static async open({ azureEndpoint, pki, stateDir }: LocalCluster): Promise<ArmSession> {
    const dispatcher = new Agent({ connect: { ca: await readFile(pki.caFile, 'utf8') } })
    const form = new URLSearchParams({
      client_id: azureIds.clientId,
      scope: 'https://management.azure.com/.default',
      client_assertion: await readFile(join(stateDir, 'joiner.federated-token'), 'utf8'),
    })
    const { body } = await request(`${azureEndpoint}/${azureIds.tenantId}/oauth2/v2.0/token`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    })
    const { access_token: token } = (await body.json()) as { readonly access_token: string }
    const send: Send = async (method, path, more) => {
      const answer = await request(`${azureEndpoint}${path}`, { method, dispatcher, ...more })
      return { status: answer.statusCode, text: await answer.body.text() }
    }
    return new ArmSession(token, send, () => dispatcher.destroy())
  }

  /** PUTs a VM with what comes with it. */
  async putVm(name: string, body: unknown): Promise<void> {
    await this.#sendTo('PUT', vmPath(name), body)
  }

  /** Makes a small VM with a NIC and an OS disk, all of these tags, behind Joiner's back. */
  plantVm(name: string, tags: Readonly<Record<string, string>>, disk = `${name}_OsDisk`): Promise<void> {
    const ipConfigurations = [{ name: 'ipconfig', properties: { subnet: { id: subnetId } } }]
    const nic = { primary: true, deleteOption: 'Detach', ipConfigurations }
    return this.putVm(name, {
      location: 'westus2',
      tags,
      properties: {
        hardwareProfile: { vmSize: 'Standard_D2s_v5' },
        storageProfile: { osDisk: { name: disk, createOption: 'FromImage', deleteOption: 'Detach', diskSizeGB: 128 } },
        networkProfile: {
          networkApiVersion: '2022-11-01',
          networkInterfaceConfigurations: [{ name: `${name}-1`, tags, properties: nic }],
        },
        osProfile: { adminUsername: 'azureuser', computerName: name },
      },
    })
  }

  /** A VM as ARM answers it. */
  async vm(name: string): Promise<VirtualMachineOnWire> {
    return JSON.parse(await this.#sendTo('GET', vmPath(name))) as VirtualMachineOnWire
  }

  async deleteVm(name: string): Promise<void> {
    await this.#sendTo('DELETE', vmPath(name))
  }

  /** PUTs an agent pool, or a machine of one, of the AKS cluster. */
  async putAks(path: string, body: unknown): Promise<void> {
    await this.#sendTo('PUT', `${cluster}/agentPools/${path}?api-version=2026-04-02-preview`, body)
  }

  /** PUTs a capacity reservation group, in the resource group of the AKS cluster; its ARM id. */
  async putCapacityGroup(name: string, zones: readonly string[]): Promise<string> {
    await this.#sendTo('PUT', `${capacityGroup(name)}?${capacityVersion}`, { location: 'westus2', zones })
    return capacityGroup(name)
  }

  /** PUTs a capacity reservation, or changes its capacity. */
  async putReservation(group: string, name: string, body: unknown): Promise<void> {
    await this.#sendTo('PUT', `${group}/capacityReservations/${name}?${capacityVersion}`, body)
  }

  async deleteReservation(group: string, name: string): Promise<void> {
    await this.#sendTo('DELETE', `${group}/capacityReservations/${name}?${capacityVersion}`)
  }

  /** Names of the VMs that a capacity reservation group has, sorted. */
  async vmsInCapacityGroup(id: string): Promise<readonly string[]> {
    const text = await this.#sendTo('GET', `${id}?${capacityVersion}`)
    const { properties } = JSON.parse(text) as {
      readonly properties: { readonly virtualMachinesAssociated: readonly { readonly id: string }[] }
    }
    return properties.virtualMachinesAssociated.map((vm) => vm.id.split('/').at(-1) ?? '').sort()
  }

  /** Takes a VM out of its capacity reservation group. */
  async leaveCapacityGroup(vm: string): Promise<void> {
    const capacityReservation = { capacityReservationGroup: { id: null } }
    await this.#sendTo('PATCH', vmPath(vm), { properties: { capacityReservation } })
  }

  close(): Promise<void> {
    return this.#close()
  }

  async #sendTo(method: Parameters<Send>[0], path: string, body?: unknown): Promise<string> {
    const { status, text } = await this.#send(method, path, {
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return text
  }
}
