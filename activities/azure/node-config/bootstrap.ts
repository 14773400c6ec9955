import type { NodeConfig } from '../../../api/node-config/schema.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { ClusterNetwork } from '../launch/network-facts.ts'
import { parseSubnet } from '../launch/subnet.ts'
import type { NodeClassSettings } from '../node-class/node-class-settings.ts'
import { minorVersion } from './kubelet-flags.ts'
import { localDnsProfile } from './node-dns.ts'
import { kubeletConfigFile, linuxOsConfig } from './node-os.ts'

export interface BootstrapInput {
  readonly config: AzureConfig
  readonly nodeClass: NodeClassSettings
  readonly network: ClusterNetwork
  readonly vmSize: string
  readonly arch: 'amd64' | 'arm64'
  readonly gpuVendor?: 'nvidia' | 'amd' | undefined
  readonly kubernetesVersion: string
  /** `id.secret`. */
  readonly bootstrapToken: string
  readonly nodeLabels: Readonly<Record<string, string>>
  readonly kubeletFlags: Readonly<Record<string, string>>
}

/** Command by which a node checks whether it reaches the outside. The node runs it as it is. */
export const outboundCommand = 'curl -v --insecure --proxy-insecure https://mcr.microsoft.com/v2/'

/** Returns the document that the node's own controller turns into a kubelet (aks-node-controller, version 1; reference/bootstrap.md 4). */
export function aksNodeConfig(input: BootstrapInput): NodeConfig {
  const { config, nodeClass, vmSize, kubernetesVersion } = input
  const nvidia = input.gpuVendor === 'nvidia' && nodeClass.gpuDriver
  return {
    version: 'v1',
    kubernetes_version: kubernetesVersion,
    vm_size: vmSize,
    linux_admin_username: config.adminUsername,
    is_vhd: true,
    enable_ssh: true,
    needs_cgroupv2: true,
    disable_custom_data: true,
    kubernetes_ca_cert: config.clusterCaBundle,
    outbound_command: outboundCommand,
    kube_binary_config: kubeBinary(kubernetesVersion, input.arch),
    api_server_config: { api_server_name: config.clusterEndpoint },
    auth_config: {
      tenant_id: config.tenantId,
      subscription_id: config.subscriptionId,
      service_principal_id: 'msi',
      service_principal_secret: 'bXNp',
      assigned_identity_id: config.kubeletIdentityClientId,
      use_managed_identity_extension: true,
    },
    cluster_config: clusterConfig(input),
    bootstrapping_config: {
      bootstrapping_auth_method: 'BOOTSTRAPPING_AUTH_METHOD_BOOTSTRAP_TOKEN',
      cluster_join_method: 'CLUSTER_JOIN_METHOD_GENERATE_CSR',
      tls_bootstrapping_token: input.bootstrapToken,
    },
    network_config: networkConfig(input),
    gpu_config: { enable_nvidia: nvidia, config_gpu_driver: nvidia },
    ...(nodeClass.artifactStreaming && input.arch === 'amd64' ? { enable_artifact_streaming: true } : {}),
    ...(nodeClass.localDnsEnabled ? { local_dns_profile: localDnsProfile(nodeClass.spec.localDNS) } : {}),
    ...operatingSystem(nodeClass),
    ...outgoing(config),
    kubelet_config: {
      kubelet_flags: input.kubeletFlags,
      kubelet_node_labels: input.nodeLabels,
      ...kubeletConfigFile(nodeClass.kubelet),
    },
  }
}

function clusterConfig({ config, nodeClass, network }: BootstrapInput): NonNullable<NodeConfig['cluster_config']> {
  const subnet = parseSubnet(nodeClass.subnetId)
  return {
    resource_group: config.nodeResourceGroup,
    location: config.location,
    vm_type: 'VM_TYPE_STANDARD',
    use_instance_metadata: true,
    cluster_network_config: {
      vnet_name: subnet?.vnet ?? '',
      vnet_resource_group: subnet?.resourceGroup ?? '',
      subnet: subnet?.name ?? '',
      security_group_name: network.securityGroupName,
      route_table: network.routeTableName,
      core_dns_service_ip: config.clusterDnsServiceIp,
    },
    load_balancer_config: {
      load_balancer_sku: 'LOAD_BALANCER_SKU_STANDARD',
      exclude_master_from_standard_load_balancer: true,
      max_load_balancer_rule_count: 250,
    },
  }
}

function operatingSystem({ spec }: NodeClassSettings): Pick<NodeConfig, 'custom_linux_os_config'> {
  const os = linuxOsConfig(spec.linuxOSConfig)
  return os === undefined ? {} : { custom_linux_os_config: os }
}

/** Returns the CAs that the node trusts and its proxy, besides what its image brings. */
function outgoing({
  customCaCerts,
  httpProxy: proxy,
}: AzureConfig): Pick<NodeConfig, 'custom_ca_certs' | 'http_proxy_config'> {
  return {
    ...(customCaCerts.length === 0 ? {} : { custom_ca_certs: customCaCerts }),
    ...(proxy === undefined
      ? {}
      : {
          http_proxy_config: {
            http_proxy: proxy.httpProxy,
            https_proxy: proxy.httpsProxy,
            no_proxy_entries: proxy.noProxy,
            ...(proxy.trustedCa === undefined ? {} : { proxy_trusted_ca: proxy.trustedCa }),
          },
        }),
  }
}

/** Returns the kubelet's download. Nodes below 1.34 fetch the kubelet; later ones have it in the image (reference/azure-provider.md 7.1). */
function kubeBinary(version: string, arch: string): NonNullable<NodeConfig['kube_binary_config']> {
  const minor = minorVersion(version)
  const provider = credentialProviderUrl(version, arch)
  return {
    ...(minor >= 34
      ? {}
      : { kube_binary_url: `${mirror}/kubernetes/v${version}/binaries/kubernetes-node-linux-${arch}.tar.gz` }),
    ...(minor >= 35 ? {} : { pod_infra_container_image_url: 'mcr.microsoft.com/oss/kubernetes/pause:3.6' }),
    ...(provider === undefined ? {} : { linux_credential_provider_url: provider }),
  }
}

/** Returns the URL of the registry's credential provider; undefined below Kubernetes 1.30, whose kubelet needs none. */
export function credentialProviderUrl(kubernetesVersion: string, arch: string): string | undefined {
  const version = credentialProviders[Math.min(minorVersion(kubernetesVersion), 33)]
  return version === undefined
    ? undefined
    : `${mirror}/cloud-provider-azure/v${version}/binaries/azure-acr-credential-provider-linux-${arch}-v${version}.tar.gz`
}

const mirror = 'https://acs-mirror.azureedge.net'

// The registry's credential provider by Kubernetes minor version.
const credentialProviders: Readonly<Record<number, string>> = {
  30: '1.30.12',
  31: '1.31.6',
  32: '1.32.5',
  33: '1.33.0',
}

/**
 * Returns what the node itself does for the network of pods. It sets up Azure's own CNI from `vnet_cni_plugins_url`, and without that URL it would never get
 * ready; components in the cluster set up overlay and Cilium, for whose policy the contract has no value (reference/real-aks.md 4).
 */
function networkConfig({ config, arch }: BootstrapInput): NonNullable<NodeConfig['network_config']> {
  const { networkPlugin, networkPluginMode, networkDataplane, networkPolicy } = config
  const byNode = networkPlugin === 'azure' && networkPluginMode !== 'overlay' && networkDataplane !== 'cilium'
  const policy = contractPolicies[networkPolicy]
  return {
    network_plugin: byNode ? 'NETWORK_PLUGIN_AZURE' : 'NETWORK_PLUGIN_NONE',
    ...(policy === undefined ? {} : { network_policy: policy }),
    vnet_cni_plugins_url: `${mirror}/azure-cni/v${azureCniVersion}/binaries/azure-vnet-cni-linux-${arch}-v${azureCniVersion}.tgz`,
  }
}

const azureCniVersion = '1.4.32'
const contractPolicies: Readonly<Record<string, 'NETWORK_POLICY_AZURE' | 'NETWORK_POLICY_CALICO'>> = {
  azure: 'NETWORK_POLICY_AZURE',
  calico: 'NETWORK_POLICY_CALICO',
}
