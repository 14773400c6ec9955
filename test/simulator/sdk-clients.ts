import { ComputeManagementClient, type VirtualMachine } from '@azure/arm-compute'
import { NetworkManagementClient } from '@azure/arm-network'
import { WorkloadIdentityCredential } from '@azure/identity'
import { type AzureClient, createAzureClient } from '../../activities/azure/arm/client.ts'
import { ids, type SimulatorProcess, subnetId } from './simulator-process.ts'

export const group = ids.nodeResourceGroup

/** The clients as Joiner makes them: workload identity, and no retries of the SDK's own. */
export function joinersClient(simulator: SimulatorProcess): AzureClient {
  return createAzureClient({ subscriptionId: ids.subscriptionId, armEndpoint: simulator.url }, credential(simulator))
}

interface RetryOptions {
  readonly maxRetries?: number
  readonly maxRetryDelayInMs?: number
}

/** The clients of the SDK, which retry as it does by default unless these options say otherwise. */
export function plainClient(simulator: SimulatorProcess, retryOptions: RetryOptions = {}): AzureClient {
  const [used, options] = [credential(simulator), { endpoint: simulator.url, retryOptions }]
  return {
    compute: new ComputeManagementClient(used, ids.subscriptionId, options),
    network: new NetworkManagementClient(used, ids.subscriptionId, options),
  }
}

export function credential({ url, tokenFile }: SimulatorProcess): WorkloadIdentityCredential {
  return new WorkloadIdentityCredential({
    tenantId: ids.tenantId,
    clientId: ids.clientId,
    tokenFilePath: tokenFile,
    authorityHost: url,
    disableInstanceDiscovery: true,
    retryOptions: { maxRetries: 0 },
  })
}

export function arm(provider: string, type: string, name: string): string {
  return `/subscriptions/${ids.subscriptionId}/resourceGroups/${group}/providers/${provider}/${type}/${name}`
}

/** A VM with its NIC and disk in one body, as Joiner asks for it; the properties given replace its own. */
export function vmBody(name: string, changes: Partial<VirtualMachine> = {}): VirtualMachine {
  return {
    location: ids.location,
    tags: { owner: name },
    zones: ['1'],
    hardwareProfile: { vmSize: 'Standard_D2s_v5' },
    storageProfile: {
      osDisk: { name: `${name}-disk`, createOption: 'FromImage', deleteOption: 'Delete', diskSizeGB: 128 },
      imageReference: {
        communityGalleryImageId:
          '/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2204gen2containerd/versions/202610.20.0',
      },
    },
    networkProfile: {
      networkApiVersion: '2022-11-01',
      networkInterfaceConfigurations: [nicConfiguration(name)],
    },
    osProfile: { adminUsername: 'azureuser', computerName: name, customData: 'c2VjcmV0' },
    priority: 'Regular',
    ...changes,
  }
}

/** The configuration of a VM's inline NIC, in the cluster's subnet and its load balancer's pool. */
export function nicConfiguration(name: string, deleteOption: 'Delete' | 'Detach' = 'Delete') {
  return {
    name: `${name}-nic`,
    tags: { owner: name },
    primary: true,
    deleteOption,
    ipConfigurations: [
      {
        name: `${name}-nic`,
        primary: true,
        subnet: { id: subnetId },
        loadBalancerBackendAddressPools: [
          { id: `${arm('Microsoft.Network', 'loadBalancers', 'kubernetes')}/backendAddressPools/kubernetes` },
        ],
      },
    ],
  }
}

/** All entries of a paged list. */
export async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const entry of list) found.push(entry)
  return found
}
