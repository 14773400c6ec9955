import { describe, expect, it } from 'vitest'
import { goldenConfig, goldenNodeClass, goldenSubnet } from '../../test/golden-cases.ts'
import { aksNodeConfig, type BootstrapInput } from './bootstrap.ts'
import { customData } from './custom-data.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { kubeletMaySet } from './node-labels.ts'

const config = goldenConfig('westus2', {
  nodeResourceGroup: 'MC_rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
  vnetSubnetID: goldenSubnet,
})

function input(change: Partial<BootstrapInput> = {}): BootstrapInput {
  return {
    config,
    nodeClass: nodeClassSettings(goldenNodeClass({}), config),
    network: {
      securityGroupId: '/nsg',
      securityGroupName: 'aks-agentpool-12345678-nsg',
      routeTableName: 'aks-agentpool-12345678-routetable',
    },
    vmSize: 'Standard_D4s_v5',
    arch: 'amd64',
    kubernetesVersion: '1.36.3',
    bootstrapToken: 'abcdef.0123456789abcdef',
    nodeLabels: { a: 'b' },
    kubeletFlags: { '--max-pods': '250' },
    ...change,
  }
}

describe('the node configuration', () => {
  it('has what the node cannot do without', () => {
    expect(aksNodeConfig(input())).toMatchObject({
      version: 'v1',
      kubernetes_version: '1.36.3',
      kubernetes_ca_cert: config.clusterCaBundle,
      api_server_config: { api_server_name: config.clusterEndpoint },
      auth_config: { subscription_id: config.subscriptionId },
      cluster_config: {
        resource_group: 'MC_rg',
        location: 'westus2',
        cluster_network_config: { vnet_name: 'aks-vnet-12345678', subnet: 'aks-subnet' },
      },
      bootstrapping_config: { tls_bootstrapping_token: 'abcdef.0123456789abcdef' },
      kubelet_config: { kubelet_flags: { '--max-pods': '250' }, kubelet_node_labels: { a: 'b' } },
    })
  })

  it.each([
    ['1.33.4', ['kube_binary_url', 'pod_infra_container_image_url', 'linux_credential_provider_url']],
    ['1.34.2', ['pod_infra_container_image_url', 'linux_credential_provider_url']],
    ['1.36.3', ['linux_credential_provider_url']],
    ['1.29.4', ['kube_binary_url', 'pod_infra_container_image_url']],
  ])('of %s fetches %s', (kubernetesVersion, urls) => {
    const { kube_binary_config: binaries } = aksNodeConfig(input({ kubernetesVersion })) as {
      kube_binary_config: Readonly<Record<string, string>>
    }
    expect(Object.keys(binaries).sort()).toEqual([...urls].sort())
  })

  it.each([
    ['nvidia', 'Driver', true],
    ['nvidia', 'None', false],
    ['amd', 'Driver', false],
  ] as const)('of a %s size with mode %s installs a driver: %s', (gpuVendor, mode, expected) => {
    const nodeClass = nodeClassSettings(goldenNodeClass({ gpu: { mode } }), config)
    expect(aksNodeConfig(input({ gpuVendor, nodeClass }))).toMatchObject({
      gpu_config: { enable_nvidia: expected, config_gpu_driver: expected },
    })
  })
})

describe('custom data', () => {
  const document = Buffer.from(customData(aksNodeConfig(input())), 'base64').toString()

  it('is a MIME document of a boothook and a cloud-config', () => {
    const boundary = /boundary="([^"]+)"/.exec(document)?.[1] ?? ''
    const parts = document.split(`--${boundary}`).slice(1, -1)
    expect(document.startsWith('MIME-Version: 1.0\r\n')).toBe(true)
    expect(document.trimEnd().endsWith(`--${boundary}--`)).toBe(true)
    expect(parts.map((part) => /Content-Type: (\S+)\r\n/.exec(part)?.[1])).toEqual([
      'text/cloud-boothook',
      'text/cloud-config',
    ])
    for (const part of parts) {
      expect(part).toContain('\r\nMIME-Version: 1.0\r\n')
      expect(part).toContain('\r\nContent-Transfer-Encoding: 7bit\r\n')
    }
  })

  it('writes the configuration where the node looks for it, for root alone, and starts the node controller without waiting', () => {
    expect(document).toContain('/opt/azure/containers/aks-node-controller-config.json')
    expect(document).toMatch(/chmod 0600 \S+config\.json/)
    // The launcher must not inherit the mask: what it writes is for others too.
    expect(document).toMatch(/\(\numask 077\nbase64 -d [^)]*\n\)\nchmod/)
    expect(document).toContain('nohup /bin/bash /opt/azure/containers/aks-node-controller-launcher.sh')
    expect(document).toContain('systemctl start --no-block aks-node-controller.service')
  })
})

describe('labels that a kubelet may set', () => {
  it.each([
    ['example.com/team', true],
    ['plain', true],
    ['kubernetes.azure.com/mode', true],
    ['topology.kubernetes.io/zone', true],
    ['beta.kubernetes.io/os', true],
    ['node.kubernetes.io/anything', true],
    ['sub.kubelet.kubernetes.io/anything', true],
    ['kubernetes.io/anything', false],
    ['node-restriction.kubernetes.io/x', false],
    ['k8s.io/x', false],
    ['notk8s.io/x', true],
  ])('%s: %s', (key, expected) => {
    expect(kubeletMaySet(key)).toBe(expected)
  })
})
