import { ComputeManagementClient } from '@azure/arm-compute'
import { NetworkManagementClient } from '@azure/arm-network'
import { createHttpHeaders, type HttpClient, type PipelineRequest } from '@azure/core-rest-pipeline'
import type { AzureClient } from '../activities/azure/arm/client.ts'
import { keepingRefusals } from '../activities/azure/refusals/refusal-words.ts'

/** What a request is answered with. */
interface Answer {
  readonly status: number
  readonly body?: unknown
}

/** The SDK's clients, whose requests a function answers: what goes over the wire can be looked at as it is. */
export function fakeArm(answer: (request: PipelineRequest) => Answer | Promise<Answer>): AzureClient {
  const httpClient: HttpClient = {
    sendRequest: async (request) => {
      const { status, body } = await answer(request)
      const bodyAsText = body === undefined ? '' : JSON.stringify(body)
      const headers = createHttpHeaders({ 'content-type': 'application/json' })
      return { request, status, headers, bodyAsText }
    },
  }
  const credential = { getToken: () => Promise.resolve({ token: 'test', expiresOnTimestamp: Date.now() + 3_600_000 }) }
  const additionalPolicies = [{ policy: keepingRefusals, position: 'perCall' as const }]
  const options = { httpClient, retryOptions: { maxRetries: 0 }, additionalPolicies }
  return {
    compute: new ComputeManagementClient(credential, 'subscription', options),
    network: new NetworkManagementClient(credential, 'subscription', options),
    http: httpClient,
  }
}
