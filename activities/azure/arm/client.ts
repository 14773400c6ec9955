import { ComputeManagementClient } from '@azure/arm-compute'
import { NetworkManagementClient } from '@azure/arm-network'
import type { HttpClient, PipelinePolicy } from '@azure/core-rest-pipeline'
import type { TokenCredential } from '@azure/identity'
import type { AzureConfig } from '../azure-config.ts'
import { keepingRefusals } from '../refusals/refusal-words.ts'
import { apiVersionPolicy } from './api-versions.ts'
import { auxiliaryTokenFor } from './auxiliary-token.ts'
import { armScope } from './clouds.ts'
import { zoneDetailSpelling } from './zone-detail-spelling.ts'

export interface AzureClient {
  readonly compute: ComputeManagementClient
  readonly network: NetworkManagementClient
  /** What requests of `sendArm` go through, where it is not the SDK's default. */
  readonly http?: HttpClient
}

/** Time limit of a request to ARM: a connection that hangs must not hold up a shared list for ever. */
const requestTimeoutMs = 30_000

const requestTimeout: PipelinePolicy = {
  name: 'joinerRequestTimeout',
  sendRequest(request, next) {
    if (request.timeout === 0) request.timeout = requestTimeoutMs
    return next(request)
  },
}

/**
 * Creates the SDK clients. Their own retries are off: Joiner's durable retries and budgets decide, and hidden sleeps would break both
 * (reference/azure-sdk.md 6). `policies` see every request.
 */
export function createAzureClient(
  config: Pick<AzureConfig, 'subscriptionId' | 'armEndpoint' | 'tokenAudience' | 'sharedGallery' | 'apiVersions'>,
  credential: TokenCredential,
  policies: readonly PipelinePolicy[] = [],
): AzureClient {
  const auxiliary = auxiliaryTokenFor(config)
  const versions = apiVersionPolicy(config.apiVersions ?? new Map())
  const all = [
    requestTimeout,
    versions,
    zoneDetailSpelling,
    keepingRefusals,
    ...(auxiliary === undefined ? [] : [auxiliary]),
    ...policies,
  ]
  const options = {
    retryOptions: { maxRetries: 0 },
    additionalPolicies: all.map((policy) => ({ policy, position: 'perCall' as const })),
    userAgentOptions: { userAgentPrefix: 'joiner' },
    ...(config.armEndpoint === undefined ? {} : { endpoint: config.armEndpoint }),
    ...(config.tokenAudience === undefined ? {} : { credentials: { scopes: [armScope(config.tokenAudience)] } }),
  }
  return {
    compute: new ComputeManagementClient(credential, config.subscriptionId, options),
    network: new NetworkManagementClient(credential, config.subscriptionId, options),
  }
}
