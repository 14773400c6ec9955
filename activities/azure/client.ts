import { ComputeManagementClient, type ResourceSku, type Usage, type VirtualMachine } from '@azure/arm-compute'
import { NetworkManagementClient } from '@azure/arm-network'
import { DefaultAzureCredential, WorkloadIdentityCredential } from '@azure/identity'
import type { AzureConfig } from './azure-config.ts'

export interface AzureCredentials {
  readonly tenantId?: string
  readonly clientId?: string
  readonly tokenFilePath?: string
  readonly authorityHost?: string
}

export interface AzureClient {
  readonly compute: ComputeManagementClient
  readonly network: NetworkManagementClient
}

/**
 * The SDK clients. Their own retries are off: Joiner's durable retries and budgets decide, and hidden sleeps would break both
 * (reference/azure-sdk.md, "Errors").
 */
export function createAzureClient(config: AzureConfig, credentials: AzureCredentials): AzureClient {
  const { tenantId, clientId, tokenFilePath, authorityHost } = credentials
  const credential =
    tenantId !== undefined && clientId !== undefined && tokenFilePath !== undefined
      ? new WorkloadIdentityCredential({
          tenantId,
          clientId,
          tokenFilePath,
          ...(authorityHost === undefined ? {} : { authorityHost, disableInstanceDiscovery: true }),
        })
      : new DefaultAzureCredential()
  const options = {
    retryOptions: { maxRetries: 0 },
    userAgentOptions: { userAgentPrefix: 'joiner' },
    ...(config.armEndpoint === undefined ? {} : { endpoint: config.armEndpoint }),
  }
  return {
    compute: new ComputeManagementClient(credential, config.subscriptionId, options),
    network: new NetworkManagementClient(credential, config.subscriptionId, options),
  }
}

export type { ResourceSku, Usage, VirtualMachine }
