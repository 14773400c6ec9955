import { describe, expect, it } from 'vitest'
import { goldenConfig, goldenNodeClass, goldenSubnet } from '../../../test/vectors/golden-cases.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { aksNodeConfig, type BootstrapInput } from './bootstrap.ts'
import { assertUsable, customData } from './custom-data.ts'
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
  it('has the required fields of a node', () => {
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

describe('settings of a node class for the node itself', () => {
  const of = (spec: Readonly<Record<string, unknown>>, change: Partial<BootstrapInput> = {}) =>
    aksNodeConfig(input({ nodeClass: nodeClassSettings(goldenNodeClass(spec), config), ...change }))

  it('are left out where they are unset', () => {
    const written = Object.keys(aksNodeConfig(input()))
    for (const field of [
      'custom_linux_os_config',
      'local_dns_profile',
      'enable_artifact_streaming',
      'http_proxy_config',
      'custom_ca_certs',
    ])
      expect(written).not.toContain(field)
    expect(aksNodeConfig(input()).kubelet_config).not.toHaveProperty('enable_kubelet_config_file')
  })

  it('are kernel settings, DNS and kubelet fields without a flag', () => {
    expect(
      of({
        linuxOSConfig: { sysctls: { vmSwappiness: 10 } },
        localDNS: { mode: 'Required' },
        kubelet: { failSwapOn: false },
      }),
    ).toMatchObject({
      custom_linux_os_config: { sysctl_config: { vm_swappiness: 10 } },
      local_dns_profile: { enable_local_dns: true },
      kubelet_config: { enable_kubelet_config_file: true, kubelet_config_file_config: { fail_swap_on: false } },
    })
  })

  it.each([
    ['amd64', true],
    ['arm64', undefined],
  ] as const)('is artifact streaming on %s: %s', (arch, expected) => {
    expect(of({ artifactStreaming: { enabled: true } }, { arch }).enable_artifact_streaming).toBe(expected)
  })

  it.each([
    ['azure', 'overlay', 'cilium', 'NETWORK_PLUGIN_NONE'],
    ['azure', '', 'cilium', 'NETWORK_PLUGIN_NONE'],
    ['azure', '', 'azure', 'NETWORK_PLUGIN_AZURE'],
    ['none', '', '', 'NETWORK_PLUGIN_NONE'],
  ] as const)('of network %s %s %s is set up by %s', (networkPlugin, networkPluginMode, networkDataplane, plugin) => {
    const other = { ...config, networkPlugin, networkPluginMode, networkDataplane }
    expect(of({}, { config: other }).network_config?.network_plugin).toBe(plugin)
  })

  it.each([
    ['azure', 'NETWORK_POLICY_AZURE'],
    ['calico', 'NETWORK_POLICY_CALICO'],
    ['cilium', undefined],
    ['none', undefined],
    ['', undefined],
  ] as const)('with the policy %j is told %s', (networkPolicy, expected) => {
    expect(of({}, { config: { ...config, networkPolicy } }).network_config?.network_policy).toBe(expected)
  })

  it.each(['amd64', 'arm64'] as const)("unpacks Azure's CNI for %s", (arch) => {
    expect(of({}, { arch }).network_config?.vnet_cni_plugins_url).toBe(
      `https://acs-mirror.azureedge.net/azure-cni/v1.4.32/binaries/azure-vnet-cni-linux-${arch}-v1.4.32.tgz`,
    )
  })
})

describe('CAs and proxies of all nodes', () => {
  it('are in their configuration', () => {
    const httpProxy = { httpProxy: 'http://p:1', httpsProxy: 'http://p:2', noProxy: ['localhost'], trustedCa: 'Y2E=' }
    const nodeConfig = aksNodeConfig(input({ config: { ...config, customCaCerts: ['Y2VydDE='], httpProxy } }))
    expect(nodeConfig).toMatchObject({
      custom_ca_certs: ['Y2VydDE='],
      http_proxy_config: {
        http_proxy: 'http://p:1',
        https_proxy: 'http://p:2',
        no_proxy_entries: ['localhost'],
        proxy_trusted_ca: 'Y2E=',
      },
    })
    expect(() => assertUsable(nodeConfig)).not.toThrow()
  })
})

describe('a configuration with which no node would join', () => {
  it('is rejected by the paths of its errors, without its values', () => {
    const nodeClass = nodeClassSettings(goldenNodeClass({ vnetSubnetID: 'nonsense' }), config)
    const other = { ...config, location: '' }
    expect(() => assertUsable(aksNodeConfig(input({ nodeClass, config: other })))).toThrow(
      /^node configuration: cluster_config.location is missing, cluster_config.cluster_network_config.vnet_name is missing; .*VNET_SUBNET_ID/,
    )
    const typo = { ...aksNodeConfig(input()), tls_token: 'abcdef.0123456789abcdef', is_vhd: 'yes' } as never
    expect(() => assertUsable(typo)).toThrow('is_vhd is not true or false, tls_token is no known field')
    expect(() => assertUsable(typo)).not.toThrow(/0123456789abcdef|yes/)
  })

  it('is rejected when it is too large for Azure', () => {
    const certificate = Buffer.alloc(60_000, 'x').toString('base64')
    const nodeConfig = aksNodeConfig(input({ config: { ...config, customCaCerts: [certificate] } }))
    expect(() => customData(nodeConfig)).toThrow(/bytes of custom data, and Azure takes 65535; name fewer CAs/)
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

  it('writes the configuration where the node reads it, for root alone, and starts the node controller without waiting', () => {
    expect(document).toContain('/opt/azure/containers/aks-node-controller-config.json')
    expect(document).toMatch(/chmod 0600 \S+config\.json/)
    // The launcher must not inherit the mask: its files are for others too.
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
