import { ComputeManagementClient } from '@azure/arm-compute'
import { NetworkManagementClient } from '@azure/arm-network'
import type { HttpClient, PipelinePolicy } from '@azure/core-rest-pipeline'
import type { TokenCredential } from '@azure/identity'
import { defined } from '../../../core/values/defined.ts'
import { answerPolicy } from '../answers/answer-policy.ts'
import type { AzureConfig } from '../azure-config.ts'
import { keepingRefusals } from '../refusals/refusal-words.ts'
import { apiVersionPolicy } from './api-versions.ts'
import { auxiliaryTokenFor } from './auxiliary-token.ts'
import { armScope, publicArm } from './clouds.ts'

export interface AzureClient {
  readonly compute: ComputeManagementClient
  readonly network: NetworkManagementClient
  /** What all requests go through, those to other endpoints of Azure included, where it is not the default. */
  readonly http?: HttpClient
}

export interface AzureClientOptions {
  /** They see every request. */
  readonly policies?: readonly PipelinePolicy[]
  readonly http?: HttpClient | undefined
}

/**
 * Creates the SDK clients. Their own retries (of 429 and 5xx, three tries with sleeps between) are off: Joiner's durable retries and
 * budgets decide, and hidden sleeps would break both.
 */
export function createAzureClient(
  config: Pick<AzureConfig, 'subscriptionId' | 'armEndpoint' | 'tokenAudience' | 'sharedGallery' | 'apiVersions'>,
  credential: TokenCredential,
  { policies = [], http }: AzureClientOptions = {},
): AzureClient {
  const auxiliary = auxiliaryTokenFor(config, http)
  const versions = apiVersionPolicy(config.apiVersions ?? new Map())
  const all = [
    versions,
    zoneDetailSpelling,
    keepingRefusals,
    ...(auxiliary === undefined ? [] : [auxiliary]),
    ...policies,
  ]
  const answers = answerPolicy(config.armEndpoint ?? publicArm)
  const options = {
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [
      ...all.map((policy) => ({ policy, position: 'perCall' as const })),
      { policy: answers, position: 'perRetry' as const },
    ],
    userAgentOptions: { userAgentPrefix: 'joiner' },
    ...defined({ httpClient: http, endpoint: config.armEndpoint }),
    ...(config.tokenAudience === undefined ? {} : { credentials: { scopes: [armScope(config.tokenAudience)] } }),
  }
  return {
    compute: new ComputeManagementClient(credential, config.subscriptionId, options),
    network: new NetworkManagementClient(credential, config.subscriptionId, options),
    ...defined({ http }),
  }
}

/**
 * Corrects the SKU list before the SDK reads it: some answers spell a zone detail's `name` as `Name`, which the SDK drops without a word. Ultra
 * disks would then be known in no zone.
 */
export const zoneDetailSpelling: PipelinePolicy = {
  name: 'joinerZoneDetailSpelling',
  async sendRequest(request, next) {
    const response = await next(request)
    if (new URL(request.url).pathname.toLowerCase().endsWith('/providers/microsoft.compute/skus'))
      response.bodyAsText = response.bodyAsText?.replaceAll(/"Name"(?=\s*:\s*\[)/g, '"name"') ?? null
    return response
  },
}
