import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../activities/azure/arm/api-versions.ts'
import { checkApiVersion, securityProfileOf } from './api-versions.ts'

const path = (type: string) => `/subscriptions/s/resourceGroups/g/providers/${type}/x`

describe('API versions of the simulator', () => {
  it.each(Object.entries(apiVersions))('%s has the one that Joiner uses, %s', (type, version) => {
    expect(() => checkApiVersion(path(type), version, 'westus2')).not.toThrow()
  })

  it.each([
    ['Microsoft.Network/networkInterfaces', '2022-01-01', "Karpenter's provider"],
    ['Microsoft.Network/networkInterfaces', '2022-07-01', 'az 2.45'],
    ['Microsoft.Compute/virtualMachines', '2022-08-01', 'az 2.45'],
    ['Microsoft.ContainerService/managedClusters', '2022-11-01', 'az 2.45'],
  ])('%s has %s, which %s sends', (type, version) => {
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
  const gen2 = (securityType?: unknown) =>
    vm('2404gen2containerd', securityType === undefined ? undefined : { securityType })
  const feature = ['Microsoft.Compute/UseStandardSecurityType']
  it.each([
    ['unset, with an old version', gen2(), '2025-04-01', [], undefined],
    ['unset, with a new version', gen2(), '2026-04-01', [], 'TrustedLaunch'],
    [
      'unset beside encryption, with a new version',
      vm('2404gen2containerd', { encryptionAtHost: true }),
      '2025-11-01',
      [],
      'TrustedLaunch',
    ],
    ['null, with a new version', gen2(null), '2025-11-01', [], 'TrustedLaunch'],
    ['unset, of the first generation', vm('2404containerd'), '2026-04-01', [], 'Standard'],
    ['unset, of arm64', vm('2404gen2arm64containerd'), '2025-11-01', [], 'Standard'],
    ['Standard, with a new version', gen2('Standard'), '2025-11-01', [], 'Standard'],
    ['Standard, with an old version and the feature', gen2('Standard'), '2025-04-01', feature, 'Standard'],
    ['Trusted Launch, with an old version', gen2('TrustedLaunch'), '2022-11-01', [], 'TrustedLaunch'],
  ])('%s', (_, body, version, features, expected) => {
    expect(securityProfileOf(body, version, { features })?.['securityType']).toBe(expected)
  })

  it.each([
    ['Standard', '2025-04-01', []],
    ['Standard', '2022-11-01', []],
    ['standard', '2026-04-01', feature],
    ['Other', '2026-04-01', feature],
    ['', '2025-04-01', feature],
  ])('"%s" is refused in %s with the features %j', (type, version, features) => {
    expect(() => securityProfileOf(gen2(type), version, { features })).toThrow(
      expect.objectContaining({
        status: 400,
        code: 'InvalidParameter',
        message: 'The value of parameter securityProfile.securityType is invalid.',
      }),
    )
  })
})
