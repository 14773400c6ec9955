import { ComputeManagementClient } from '@azure/arm-compute'
import { NetworkManagementClient } from '@azure/arm-network'
import type { PipelinePolicy } from '@azure/core-rest-pipeline'
import { DefaultAzureCredential, WorkloadIdentityCredential } from '@azure/identity'
import { auxiliaryTokenFor } from './auxiliary-token.ts'
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

/** A request that ARM does not answer fails after this long: a connection that hangs must not hold up a shared list for ever. */
const requestTimeoutMs = 30_000

const requestTimeout: PipelinePolicy = {
  name: 'joinerRequestTimeout',
  sendRequest(request, next) {
    if (request.timeout === 0) request.timeout = requestTimeoutMs
    return next(request)
  },
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
  const auxiliary = auxiliaryTokenFor(config)
  const options = {
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [requestTimeout, ...(auxiliary === undefined ? [] : [auxiliary])].map((policy) => ({
      policy,
      position: 'perCall' as const,
    })),
    userAgentOptions: { userAgentPrefix: 'joiner' },
    ...(config.armEndpoint === undefined ? {} : { endpoint: config.armEndpoint }),
  }
  return {
    compute: new ComputeManagementClient(credential, config.subscriptionId, options),
    network: new NetworkManagementClient(credential, config.subscriptionId, options),
  }
}
