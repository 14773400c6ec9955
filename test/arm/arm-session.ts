import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { azureIds, clusterName, subnetId } from '../../deploy/local/cluster.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'

const group = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${azureIds.nodeResourceGroup}`

const cluster = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${clusterName}-group/providers/Microsoft.ContainerService/managedClusters/${clusterName}`

/** Requests to the simulated ARM by somebody else than Joiner, with Joiner's identity. */
export class ArmSession {
  readonly #endpoint: string
  readonly #agent: Agent
  /** The access token, as Joiner gets them. */
  readonly token: string

  private constructor(endpoint: string, agent: Agent, token: string) {
    this.#endpoint = endpoint
    this.#agent = agent
    this.token = token
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
    return new ArmSession(azureEndpoint, dispatcher, token)
  }

  /** PUTs a VM with what comes with it. */
  putVm(name: string, body: unknown): Promise<void> {
    return this.#send('PUT', `Microsoft.Compute/virtualMachines/${name}`, body)
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

  deleteVm(name: string): Promise<void> {
    return this.#send('DELETE', `Microsoft.Compute/virtualMachines/${name}`)
  }

  /** PUTs an agent pool, or a machine of one, of the AKS cluster. */
  putAks(path: string, body: unknown): Promise<void> {
    return this.#sendTo('PUT', `${cluster}/agentPools/${path}?api-version=2026-04-02-preview`, body)
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  #send(method: 'PUT' | 'DELETE', path: string, body?: unknown): Promise<void> {
    return this.#sendTo(method, `${group}/providers/${path}?api-version=2024-11-01`, body)
  }

  async #sendTo(method: 'PUT' | 'DELETE', path: string, body?: unknown): Promise<void> {
    const { statusCode, body: answer } = await request(`${this.#endpoint}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${text}`)
  }
}
