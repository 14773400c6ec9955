import type { AzureConfig } from './azure-config.ts'
import { minorVersion } from './kubelet-flags.ts'
import type { NodeClassSettings } from './node-class-settings.ts'
import { parseSubnet } from './subnet.ts'

export interface BootstrapInput {
  readonly config: AzureConfig
  readonly nodeClass: NodeClassSettings
  readonly vmSize: string
  readonly arch: 'amd64' | 'arm64'
  readonly gpuVendor?: 'nvidia' | 'amd' | undefined
  readonly kubernetesVersion: string
  /** `id.secret`. */
  readonly bootstrapToken: string
  readonly nodeLabels: Readonly<Record<string, string>>
  readonly kubeletFlags: Readonly<Record<string, string>>
}

/** The document that the node's own controller turns into a kubelet (aks-node-controller, version 1; azure/bootstrap.md 4). */
export function aksNodeConfig(input: BootstrapInput): Record<string, unknown> {
  const { config, nodeClass, vmSize, kubernetesVersion } = input
  const subnet = parseSubnet(nodeClass.subnetId)
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
    outbound_command: 'curl -v --insecure --proxy-insecure https://mcr.microsoft.com/v2/',
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
    cluster_config: {
      resource_group: config.nodeResourceGroup,
      location: config.location,
      vm_type: 'VM_TYPE_STANDARD',
      use_instance_metadata: true,
      cluster_network_config: {
        vnet_name: subnet?.vnet ?? '',
        vnet_resource_group: subnet?.resourceGroup ?? '',
        subnet: subnet?.name ?? '',
        security_group_name: 'aks-agentpool-nsg',
        route_table: 'aks-agentpool-routetable',
        core_dns_service_ip: config.clusterDnsServiceIp,
      },
      load_balancer_config: {
        load_balancer_sku: 'LOAD_BALANCER_SKU_STANDARD',
        exclude_master_from_standard_load_balancer: true,
        max_load_balancer_rule_count: 250,
      },
    },
    bootstrapping_config: {
      bootstrapping_auth_method: 'BOOTSTRAPPING_AUTH_METHOD_BOOTSTRAP_TOKEN',
      cluster_join_method: 'CLUSTER_JOIN_METHOD_GENERATE_CSR',
      tls_bootstrapping_token: input.bootstrapToken,
    },
    network_config: { network_plugin: networkPlugin(config) },
    gpu_config: { enable_nvidia: nvidia, config_gpu_driver: nvidia },
    ...(nodeClass.artifactStreaming && input.arch === 'amd64' ? { enable_artifact_streaming: true } : {}),
    kubelet_config: { kubelet_flags: input.kubeletFlags, kubelet_node_labels: input.nodeLabels },
  }
}

/** Below 1.34 nodes fetch the kubelet; later ones have it in the image (reference/azure-provider.md 7.1). */
function kubeBinary(version: string, arch: string): Record<string, unknown> {
  const minor = minorVersion(version)
  const source = 'https://acs-mirror.azureedge.net'
  const provider = credentialProviders[Math.min(minor, 33)]
  return {
    ...(minor >= 34
      ? {}
      : { kube_binary_url: `${source}/kubernetes/v${version}/binaries/kubernetes-node-linux-${arch}.tar.gz` }),
    ...(minor >= 35 ? {} : { pod_infra_container_image_url: 'mcr.microsoft.com/oss/kubernetes/pause:3.6' }),
    ...(provider === undefined
      ? {}
      : {
          linux_credential_provider_url: `${source}/cloud-provider-azure/v${provider}/binaries/azure-acr-credential-provider-linux-${arch}-v${provider}.tar.gz`,
        }),
  }
}

// The registry's credential provider by Kubernetes minor version.
const credentialProviders: Readonly<Record<number, string>> = {
  30: '1.30.12',
  31: '1.31.6',
  32: '1.32.5',
  33: '1.33.0',
}

/** Azure's own CNI is set up by the node; overlay and Cilium are set up by what runs in the cluster. */
function networkPlugin({ networkPlugin, networkPluginMode, networkDataplane }: AzureConfig): string {
  const byNode = networkPlugin === 'azure' && networkPluginMode !== 'overlay' && networkDataplane !== 'cilium'
  return byNode ? 'NETWORK_PLUGIN_AZURE' : 'NETWORK_PLUGIN_NONE'
}

const boundary = '==joiner-node-config=='
const configPath = '/opt/azure/containers/aks-node-controller-config.json'

/** cloud-init's document around the config, base64 as `osProfile.customData` wants it (azure/bootstrap.md 2). */
export function customData(nodeConfig: Record<string, unknown>): string {
  const payload = Buffer.from(JSON.stringify(nodeConfig)).toString('base64')
  const boothook = `#cloud-boothook
#!/bin/bash
set -u
mkdir -p /opt/azure/containers /var/log/azure
if [ -x /opt/azure/containers/provision_preload.sh ]; then
  /opt/azure/containers/provision_preload.sh >/dev/null 2>&1 &
fi
umask 077
base64 -d <<'JOINER_CONFIG' > ${configPath}
${payload}
JOINER_CONFIG
chmod 0600 ${configPath}
if [ -f /opt/azure/containers/aks-node-controller-launcher.sh ]; then
  nohup /bin/bash /opt/azure/containers/aks-node-controller-launcher.sh >/var/log/azure/aks-node-controller.output 2>&1 &
else
  systemctl start --no-block aks-node-controller.service
fi
`
  const cloudConfig = "#cloud-config\nruncmd:\n  - echo 'node configuration written'\n"
  const part = (type: string, body: string) =>
    `--${boundary}\r\nContent-Type: ${type}\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: 7bit\r\n\r\n${body}\r\n`
  const document = `MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n${part('text/cloud-boothook', boothook)}${part('text/cloud-config', cloudConfig)}--${boundary}--\r\n`
  return Buffer.from(document).toString('base64')
}
