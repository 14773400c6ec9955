import { describe, expect, it } from 'vitest'
import { goldenConfig, goldenNodeClass, goldenSubnet } from '../../../test/vectors/golden-cases.ts'
import { parseApiVersions } from '../arm/api-versions.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { attemptOf } from './virtual-machine.ts'
import { vmRequest } from './vm-request.ts'

const uid = 'claim-uid'
const token = 'abcdef.0123456789abcdef'

function claimOf(name: string, labels: Readonly<Record<string, string>>) {
  return {
    metadata: { ...goldenNodeClass({}).metadata, name, uid, labels },
    spec: {
      taints: [],
      startupTaints: [],
      requirements: [],
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requests: {},
    },
  }
}

/** Returns the node configuration that a VM would find in its custom data. */
function nodeConfig(customData: string | undefined) {
  const document = Buffer.from(customData ?? '', 'base64').toString()
  const payload = /<<'JOINER_CONFIG' > \S+\n([A-Za-z0-9+/=]+)\nJOINER_CONFIG/.exec(document)?.[1]
  return JSON.parse(Buffer.from(payload ?? '', 'base64').toString()) as {
    readonly kubelet_config: {
      readonly kubelet_flags: Readonly<Record<string, string>>
      readonly kubelet_node_labels: Readonly<Record<string, string>>
    }
    readonly bootstrapping_config: { readonly tls_bootstrapping_token: string }
  }
}

describe('a request', () => {
  const config: AzureConfig = goldenConfig('westus2', {
    nodeResourceGroup: 'MC_rg',
    networkPlugin: 'azure',
    networkPluginMode: 'overlay',
    vmMemoryOverheadPercent: 0.075,
    vnetSubnetID: goldenSubnet,
    additionalTags: { 'team/owner': 'platform' },
  })
  const request = (
    attempt: number,
    labels: Readonly<Record<string, string>> = {},
    { versions = '', security = {} }: { readonly versions?: string; readonly security?: object } = {},
  ) =>
    vmRequest({
      config: { ...config, apiVersions: parseApiVersions(versions) },
      nodeClass: nodeClassSettings(goldenNodeClass({ security }), config),
      network: { securityGroupId: '/nsg', securityGroupName: 'nsg', routeTableName: 'routes', poolIds: [] },
      claim: claimOf('default-abc', labels),
      chosen: { typeName: 'Standard_D4s_v5', zone: 'westus2-3', capacityType: 'spot', ultraSsd: false },
      size: { name: 'Standard_D4s_v5', arch: 'amd64', acceleratedNetworking: true } as VmSize,
      imageId: '/CommunityGalleries/g/images/i/versions/1',
      kubernetesVersion: '1.36.3',
      attempt,
      bootstrapToken: { token, secretUid: 'secret-uid' },
    })

  it('names VM by the claim, NIC and disk by the attempt too', () => {
    const body = request(3, { 'karpenter.sh/nodepool': 'default' })
    expect(body.osProfile?.computerName).toBe('aks-default-abc')
    expect(body.storageProfile?.osDisk?.name).toMatch(/^aks-default-abc-3-[0-9a-f]{11}$/)
    expect(body.networkProfile?.networkInterfaceConfigurations?.[0]?.name).toBe('aks-default-abc-3')
    expect(body.zones).toEqual(['3'])
    expect(attemptOf(body)).toBe(3)
    expect(body.tags).toMatchObject({ team_owner: 'platform', 'karpenter.sh_nodepool': 'default' })
  })

  it("does not give a node the labels of an earlier attempt's choice", () => {
    const body = request(2, { 'topology.kubernetes.io/zone': 'westus2-1', team: 'a' })
    const labels = nodeConfig(body.osProfile?.customData).kubelet_config.kubelet_node_labels
    expect(labels['topology.kubernetes.io/zone']).toBeUndefined()
    expect(labels['team']).toBe('a')
  })

  it('holds the token in its custom data and nowhere else', () => {
    const body = request(1)
    expect(nodeConfig(body.osProfile?.customData).bootstrapping_config.tls_bootstrapping_token).toBe(token)
    const { osProfile: _osProfile, ...rest } = body
    expect(JSON.stringify(rest)).not.toContain('0123456789abcdef')
  })
  const vms = 'Microsoft.Compute/virtualMachines'
  const launch = { trustedLaunch: { vtpm: true, secureBoot: false } }
  const trusted = { securityType: 'TrustedLaunch', uefiSettings: { secureBootEnabled: false, vTpmEnabled: true } }
  it.each<[string, string, object, object | undefined]>([
    ['the own version', '', {}, undefined],
    ['a version of a sovereign cloud', `${vms}=2024-07-01`, {}, undefined],
    ['the last version without Standard', `${vms}=2025-04-01`, {}, undefined],
    ['the first version with Standard', `${vms}=2025-11-01`, {}, { securityType: 'Standard' }],
    ['a later version', `${vms}=2026-04-01`, {}, { securityType: 'Standard' }],
    [
      'a version beside others',
      `Microsoft.Compute/disks=2025-01-02, ${vms}=2025-11-01`,
      {},
      { securityType: 'Standard' },
    ],
    ['a version of other types', 'Microsoft.Compute/locations=2025-11-01', {}, undefined],
    ['a type in other letters', 'microsoft.compute/virtualmachines=2025-11-01', {}, { securityType: 'Standard' }],
    ['an old version and encryption', '', { encryptionAtHost: true }, { encryptionAtHost: true }],
    ['an old version and no encryption', '', { encryptionAtHost: false }, { encryptionAtHost: false }],
    ['an old version and Trusted Launch', '', launch, trusted],
    ['an old version and no Trusted Launch', '', { trustedLaunch: { vtpm: false, secureBoot: false } }, undefined],
    [
      'a new version and encryption',
      `${vms}=2025-11-01`,
      { encryptionAtHost: true },
      { encryptionAtHost: true, securityType: 'Standard' },
    ],
    ['a new version and Trusted Launch', `${vms}=2025-11-01`, launch, trusted],
  ])('with %s has the security profile of that version', (_what, versions, security, expected) => {
    expect(request(1, {}, { versions, security }).securityProfile).toEqual(expected)
  })
})
