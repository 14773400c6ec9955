import { createPipelineRequest, type PipelineResponse } from '@azure/core-rest-pipeline'
import { describe, expect, it } from 'vitest'
import { apiVersionOf, apiVersionPolicy, apiVersions, parseApiVersions } from './api-versions.ts'

const group = '/subscriptions/s/resourceGroups/g/providers'

describe('the API version', () => {
  it.each([
    [`${group}/Microsoft.Compute/virtualMachines/vm`, apiVersions['Microsoft.Compute/virtualMachines']],
    [`${group}/microsoft.compute/virtualmachines/vm/extensions/e`, apiVersions['Microsoft.Compute/virtualMachines']],
    [`${group}/Microsoft.Network/loadBalancers`, apiVersions['Microsoft.Network/loadBalancers']],
    ['/subscriptions/s/providers/Microsoft.Compute/skus', apiVersions['Microsoft.Compute/skus']],
    ['/subscriptions/s/providers/Microsoft.Compute/locations/x/usages', apiVersions['Microsoft.Compute/locations']],
    ['/subscriptions/s/providers/Microsoft.Compute/locations/x/communityGalleries/g/images/i/versions', undefined],
    ['/subscriptions', undefined],
  ])('of %s', (path, version) => expect(apiVersionOf(path)).toBe(version))

  it('of a request replaces the one of the SDK, and a setting replaces both', async () => {
    const asked = async (overrides: string) => {
      const request = createPipelineRequest({
        url: `https://arm${group}/Microsoft.Compute/virtualMachines/vm?$expand=instanceView&api-version=2026-04-01`,
      })
      await apiVersionPolicy(parseApiVersions(overrides)).sendRequest(request, async () => ({}) as PipelineResponse)
      return new URL(request.url).searchParams
    }
    const own = await asked('')
    expect([own.get('api-version'), own.get('$expand')]).toEqual(['2025-04-01', 'instanceView'])
    const set = await asked('Microsoft.Compute/virtualMachines=2024-07-01')
    expect(set.get('api-version')).toBe('2024-07-01')
  })

  it.each(['2024-07-01', 'Microsoft.Compute/virtualMachines', 'Microsoft.Compute/x=2024-07-01', 'a/b=soon'])(
    'cannot be set by "%s"',
    (text) => expect(() => parseApiVersions(text)).toThrow(`"${text}": must be TYPE=VERSION`),
  )
})
