import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NodeConfig } from '../../../api/node-config/schema.ts'
import type { KubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import type { RequirementSpec, Taint } from '../../../core/objects.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { violationsOf } from '../../../deploy/local/azure/boot/violations.ts'
import { goldenConfig, goldenNodeClass, goldenSubnet } from '../../../test/vectors/golden-cases.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'
import type { AzureConfig } from '../azure-config.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { aksNodeConfig } from './bootstrap.ts'
import { customData } from './custom-data.ts'
import { kubeletFlags } from './kubelet-flags.ts'
import { kubeletLabels } from './node-labels.ts'

const token = 'abcdef.0123456789abcdef'
const config: AzureConfig = {
  ...goldenConfig('westus2', {
    nodeResourceGroup: 'MC_rg(1)_ö',
    networkPlugin: 'azure',
    networkPluginMode: 'overlay',
    vmMemoryOverheadPercent: 0.075,
    vnetSubnetID: goldenSubnet,
  }),
  customCaCerts: ['Y2VydA=='],
  httpProxy: {
    httpProxy: 'http://user:p%40ss@[::1]:3128',
    httpsProxy: 'https://proxy.example.com/',
    noProxy: ['localhost', '10.0.0.0/8', '*.example.com', '::1'],
    trustedCa: 'Y2VydA==',
  },
}

/** All settings of users and operators for a node. */
interface Settings {
  readonly config?: Partial<AzureConfig>
  readonly nodeClass?: Readonly<Record<string, unknown>>
  readonly kubernetesVersion?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly requirements?: readonly RequirementSpec[]
  readonly taints?: readonly Taint[]
  readonly kubelet?: KubeletConversion
}

function configOf(settings: Settings): NodeConfig {
  const own = { ...config, ...settings.config }
  const kubernetesVersion = settings.kubernetesVersion ?? '1.36.3'
  const nodeClass = nodeClassSettings(goldenNodeClass(settings.nodeClass ?? {}), own, settings.kubelet)
  return aksNodeConfig({
    config: own,
    nodeClass,
    network: { securityGroupId: '/nsg', securityGroupName: 'aks-agentpool-1-nsg', routeTableName: 'routes' },
    vmSize: 'Standard_D4s_v5',
    arch: 'amd64',
    kubernetesVersion,
    bootstrapToken: token,
    nodeLabels: kubeletLabels({
      config: { ...own, nodeResourceGroup: 'MC_rg' },
      nodeClass,
      kubernetesVersion,
      imageFamilyResolved: 'Ubuntu2404',
      claimLabels: settings.labels ?? {},
      wanted: requirements(settings.requirements ?? []),
      chosen: { typeName: 'Standard_D4s_v5', zone: 'westus2-1', capacityType: 'spot', ultraSsd: false },
    }),
    kubeletFlags: kubeletFlags({
      kubernetesVersion,
      maxPods: nodeClass.maxPods,
      clusterDnsServiceIp: own.clusterDnsServiceIp,
      kubelet: nodeClass.kubelet,
      v1beta1Kubelet: nodeClass.v1beta1Kubelet,
      taints: settings.taints ?? [],
      startupTaints: [],
      kubeReserved: {},
      systemReserved: {},
    }),
  })
}

const localDns = (zone: string) => {
  const entry = { queryLogging: 'Error', protocol: 'PreferUDP', forwardDestination: 'VnetDNS', forwardPolicy: 'Random' }
  const times = { maxConcurrent: 1, cacheDuration: '1h', serveStaleDuration: '1h', serveStale: 'Verify' }
  return { localDNS: { mode: 'Required', vnetDNSOverrides: [{ zone, ...entry, ...times }] } }
}

describe('custom data is made of', () => {
  it.each<[string, Settings]>([
    ['what AKS nodes have', {}],
    ['an older version', { kubernetesVersion: '1.29.4' }],
    ['labels and taints', { labels: { 'a.b/c': '' }, taints: [{ key: 'a/b', value: 'c', effect: 'NoSchedule' }] }],
    [
      'kubelet settings',
      { nodeClass: { kubelet: { allowedUnsafeSysctls: ['net.core.*'], cpuCFSQuotaPeriod: '50ms' } } },
    ],
    [
      'kubelet settings of v1beta1',
      {
        kubelet: {
          clusterDNS: ['10.0.0.10', 'fd00::a'],
          kubeReserved: { cpu: '1', memory: '1e+3' },
          evictionHard: { 'memory.available': '5%', 'nodefs.available': '' },
          evictionSoft: { 'memory.available': '1.5Gi' },
          evictionSoftGracePeriod: { 'memory.available': '1m30s' },
        },
      },
    ],
    ['kernel settings', { nodeClass: { linuxOSConfig: { sysctls: { netIPv4IPLocalPortRange: '1024 65535' } } } }],
    ['DNS zones', { nodeClass: localDns('.') }],
  ])('%s', (_, settings) => {
    expect(violationsOf(customData(configOf(settings)))).toEqual([])
  })
})

describe('custom data is not made of', () => {
  const label = 'kubelet_config.kubelet_node_labels["a"]'
  const taint = (value: string, key = 'a'): Settings => ({ taints: [{ key, value, effect: 'NoSchedule' }] })
  it.each<[Settings, string, RegExp]>([
    [{ labels: { a: 'x\nKUBELET_FLAGS=--v=9' } }, label, /NodePool or NodeClaim/],
    [{ labels: { a: 'x,b=y' } }, label, /NodePool/],
    [{ requirements: [{ key: 'a', operator: 'In', values: ['x y'] }] }, label, /NodePool/],
    [{ labels: { 'a=b': 'c' } }, 'kubelet_config.kubelet_node_labels["a=b"]', /NodePool/],
    [taint('x --v=9'), '--register-with-taints', /taints/],
    [taint('x', 'a,b'), '--register-with-taints', /taints/],
    [{ nodeClass: { kubelet: { allowedUnsafeSysctls: ['a b'] } } }, '--allowed-unsafe-sysctls', /spec\.kubelet/],
    [{ nodeClass: { kubelet: { containerLogMaxSize: '1Mi --v' } } }, '--container-log-max-size', /spec\.kubelet/],
    [{ kubelet: { clusterDNS: ['10.0.0.10 --v=9'] } }, '--cluster-dns', /annotation compat/],
    [{ kubelet: { evictionHard: { 'a<b;reboot': '1' } } }, '--eviction-hard', /annotation/],
    [{ kubelet: { kubeReserved: { cpu: '1 --v=9' } } }, '--kube-reserved', /annotation/],
    [{ nodeClass: { kubelet: { cpuCFSQuotaPeriod: '+50ms' } } }, 'cpu_cfs_quota_period', /cpuCFSQuotaPeriod/],
    [
      { nodeClass: { linuxOSConfig: { sysctls: { netIPv4IPLocalPortRange: '1 2\n3' } } } },
      'net_ipv4_ip_local_port_range',
      /linuxOSConfig\.sysctls/,
    ],
    [{ nodeClass: { linuxOSConfig: { transparentHugePageDefrag: '$(x)' } } }, 'transparent_defrag', /linuxOSConfig/],
    [{ nodeClass: localDns('a {\n bind }') }, 'vnet_dns_overrides', /localDNS/],
    [
      { nodeClass: { vnetSubnetID: goldenSubnet.replace('aks-subnet', 's"$(x)"') } },
      'network_config.subnet',
      /vnetSubnet/,
    ],
    [
      { nodeClass: { vnetSubnetID: goldenSubnet.replace('aks-vnet', '`x`') } },
      'network_config.vnet_name',
      /vnetSubnetID/,
    ],
    [{ kubernetesVersion: '1.36.3;reboot' }, 'kubernetes_version', /status\.kubernetesVersion/],
    [{ config: { adminUsername: 'a b' } }, 'linux_admin_username', /LINUX_ADMIN_USERNAME/],
    [{ config: { clusterCaBundle: 'not base64!' } }, 'kubernetes_ca_cert', /CLUSTER_CA_BUNDLE/],
    [{ config: { customCaCerts: ['a', 'b\nc'] } }, 'custom_ca_certs[]', /JOINER_NODE_CUSTOM_CA_FILE/],
    [{ config: { clusterEndpoint: 'h;x' } }, 'api_server_name', /CLUSTER_ENDPOINT/],
    [{ config: { tenantId: 'a$b' } }, 'auth_config.tenant_id', /AZURE_TENANT_ID/],
    [{ config: { subscriptionId: 'a/b' } }, 'auth_config.subscription_id', /ARM_SUBSCRIPTION_ID/],
    [{ config: { kubeletIdentityClientId: 'a"b' } }, 'assigned_identity_id', /KUBELET_IDENTITY_CLIENT_ID/],
    [{ config: { nodeResourceGroup: 'MC$rg' } }, 'cluster_config.resource_group', /AZURE_NODE_RESOURCE_GROUP/],
    [{ config: { location: 'west us' } }, 'cluster_config.location', /LOCATION/],
    [{ config: { clusterDnsServiceIp: 'x' } }, 'core_dns_service_ip', /DNS_SERVICE_IP/],
    [{ config: proxies({ httpProxy: 'http://a"$(x)"' }) }, 'http_proxy_config.http_proxy', /JOINER_NODE_HTTP_PROXY/],
    [{ config: proxies({ httpsProxy: 'http://a`x`' }) }, 'http_proxy_config.https_proxy', /JOINER_NODE_HTTPS_PROXY/],
    [{ config: proxies({ noProxy: ['a', '";x'] }) }, 'no_proxy_entries[]', /JOINER_NODE_NO_PROXY/],
    [{ config: proxies({ trustedCa: '-' }) }, 'proxy_trusted_ca', /JOINER_NODE_PROXY_CA_FILE/],
  ])('%j: %s', (settings, path, remedy) => {
    const message = blockedBy(() => customData(configOf(settings)))
    expect(message).toMatch(/^node configuration: /)
    expect(message).toContain(path)
    expect(message).toMatch(remedy)
    expect(message).not.toContain(token)
  })

  it('a field that has no form yet', () => {
    const odd = { ...configOf({}), message_of_the_day: 'aGVsbG8=' }
    expect(blockedBy(() => customData(odd))).toMatch(/message_of_the_day has characters/)
  })
})

function proxies(change: Partial<NonNullable<AzureConfig['httpProxy']>>): Partial<AzureConfig> {
  return { httpProxy: { ...(config.httpProxy as NonNullable<AzureConfig['httpProxy']>), ...change } }
}

function blockedBy(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (error instanceof LaunchBlocked && error.reason === 'NodeConfigurationRefused') return error.message
    throw error
  }
  throw new Error('nothing was refused')
}

it('for random objects and settings, custom data is within the grammar, or there is none', () => {
  let [made, refused] = [0, 0]
  fc.assert(
    fc.property(randomSettings(), (settings) => {
      let data: string
      try {
        data = customData(configOf(settings))
      } catch (error) {
        if (!(error instanceof LaunchBlocked)) throw error
        refused += 1
        expect(error.message).not.toContain(token)
        return
      }
      made += 1
      expect(violationsOf(data)).toEqual([])
    }),
    { numRuns: 3000 },
  )
  expect(Math.min(made, refused)).toBeGreaterThan(300)
}, 60_000)

function randomSettings(): fc.Arbitrary<Settings> {
  const hostile = fc.oneof(
    fc.constantFrom(
      'x\ny',
      'a b',
      '$(x)',
      '`x`',
      'a;b',
      'a|b',
      'a&b',
      'a<b',
      "a'b",
      'a"b',
      'a\\b',
      'a,b',
      'a=b',
      '',
      'ä',
      '\u0000',
    ),
    fc.string({ unit: 'binary', maxLength: 8 }),
  )
  const text = (...good: readonly string[]) =>
    fc.oneof({ weight: 60, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: hostile })
  const key = text('a', 'example.com/a', 'node.kubernetes.io/x')
  const effect = fc.constantFrom('NoSchedule' as const, 'NoExecute' as const)
  const amounts = (...names: readonly string[]) =>
    fc.dictionary(text(...names), text('1', '500m', '1Gi', '5%'), { maxKeys: 2 })
  return fc.record(
    {
      config: fc.record({
        adminUsername: text('azureuser'),
        tenantId: text('12345678-1234'),
        location: text('westus2'),
        clusterEndpoint: text('a.hcp.westus2.azmk8s.io', '[::1]:6443'),
        clusterDnsServiceIp: text('10.0.0.10'),
        customCaCerts: fc.array(text('Y2E='), { maxLength: 2 }),
      }),
      nodeClass: fc.record(
        {
          kubelet: fc.record(
            {
              allowedUnsafeSysctls: fc.array(text('net.core.somaxconn', 'kernel.msg*'), { maxLength: 2 }),
              containerLogMaxSize: text('50Mi'),
              cpuManagerPolicy: text('none', 'static'),
              cpuCFSQuotaPeriod: text('100ms', '50ms'),
            },
            { requiredKeys: [] },
          ),
          vnetSubnetID: text('s1', 's_2').map((name) => goldenSubnet.replace('aks-subnet', name)),
        },
        { requiredKeys: [] },
      ),
      kubernetesVersion: text('1.36.3', '1.30.1'),
      labels: fc.dictionary(key, text('b', '', 'C_1')),
      requirements: fc.array(fc.record({ key, operator: fc.constant('In' as const), values: fc.tuple(text('x')) }), {
        maxLength: 2,
      }),
      taints: fc.array(fc.record({ key, value: text('x', ''), effect }), { maxLength: 2 }),
      kubelet: fc.record(
        {
          clusterDNS: fc.array(text('10.0.0.10', '::1'), { maxLength: 2 }),
          kubeReserved: amounts('cpu', 'memory'),
          evictionHard: amounts('memory.available'),
          evictionSoftGracePeriod: fc.dictionary(text('memory.available'), text('1m'), { maxKeys: 1 }),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  )
}
