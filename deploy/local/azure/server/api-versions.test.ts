import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../activities/azure/arm/api-versions.ts'
import { checkApiVersion, securityProfileOf } from './api-versions.ts'

const path = (type: string) => `/subscriptions/s/resourceGroups/g/providers/${type}/x`

describe('API versions of the simulator', () => {
  it.each(Object.entries(apiVersions))('%s has the one that Joiner uses, %s', (type, version) => {
    expect(() => checkApiVersion(path(type), version, 'westus2')).not.toThrow()
  })

  it('that a type does not have are refused with those that it has', () => {
    expect(() => checkApiVersion(path('Microsoft.Compute/virtualMachines'), '2030-01-01', 'westus2')).toThrow(
      /API version '2030-01-01' for type 'virtualMachines'. The supported api-versions are '.*2025-04-01/,
    )
  })
})

describe('the security type of a VM', () => {
  const vm = (image: string, securityProfile?: object) => ({
    properties: {
      storageProfile: {
        imageReference: { communityGalleryImageId: `/CommunityGalleries/g/images/${image}/versions/1` },
      },
      ...(securityProfile === undefined ? {} : { securityProfile }),
    },
  })
  it.each([
    ['unset, with an old version', vm('2404gen2containerd'), '2025-04-01', undefined],
    ['unset, with a new version', vm('2404gen2containerd'), '2026-04-01', 'TrustedLaunch'],
    ['unset, of the first generation', vm('2404containerd'), '2026-04-01', undefined],
    ['Standard, with a new version', vm('2404gen2containerd', { securityType: 'Standard' }), '2026-04-01', 'Standard'],
  ])('%s', (_, body, version, expected) => {
    expect(securityProfileOf(body, version)?.['securityType']).toBe(expected)
  })
})
