import { labels as known, taintKeys } from '../../core/labels.ts'
import type { Taint } from '../../core/objects.ts'
import { formatResources, type Resources } from '../../core/resources.ts'
import { describeTaint } from '../../core/taints.ts'
import type { AzureConfig } from './azure-config.ts'
import type { NodeClassSettings } from './node-class-settings.ts'

export interface BootstrapInput {
  readonly config: AzureConfig
  readonly nodeClass: NodeClassSettings
  readonly vmSize: string
  readonly arch: 'amd64' | 'arm64'
  readonly kubernetesVersion: string
  readonly imageFamilyResolved: string
  /** `id.secret`. */
  readonly bootstrapToken: string
  readonly nodeLabels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  readonly kubeReserved: Resources
  readonly systemReserved: Resources
}

/** The document that the node's own controller turns into a kubelet (aks-node-controller, version 1; azure/bootstrap.md 4). */
export function aksNodeConfig(input: BootstrapInput): Record<string, unknown> {
  const { config, nodeClass, vmSize, kubernetesVersion } = input
  const subnet = parseSubnet(nodeClass.subnetId)
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
    ...kubeBinary(kubernetesVersion, input.arch),
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
        vnet_name: subnet.vnet,
        vnet_resource_group: subnet.resourceGroup,
        subnet: subnet.name,
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
    network_config: { network_plugin: 'NETWORK_PLUGIN_NONE' },
    gpu_config: { enable_nvidia: false, config_gpu_driver: false },
    kubelet_config: { kubelet_flags: kubeletFlags(input), kubelet_node_labels: input.nodeLabels },
  }
}

function kubeBinary(version: string, arch: string): Record<string, unknown> {
  const [major = 1, minor = 0] = version.split('.').map(Number)
  if (major > 1 || minor >= 34) return {}
  return {
    kube_binary_config: {
      kube_binary_url: `https://acs-mirror.azureedge.net/kubernetes/v${version}/binaries/kubernetes-node-linux-${arch}.tar.gz`,
      pod_infra_container_image_url: 'mcr.microsoft.com/oss/kubernetes/pause:3.6',
    },
  }
}

function kubeletFlags({
  nodeClass,
  taints,
  kubeReserved,
  systemReserved,
  config,
}: BootstrapInput): Record<string, string> {
  const list = (amounts: Readonly<Record<string, string>>) =>
    Object.entries(amounts)
      .map(([name, amount]) => `${name}=${amount}`)
      .sort()
      .join(',')
  const unregistered: Taint = { key: taintKeys.unregistered, effect: 'NoExecute' }
  return {
    '--kubeconfig': '/var/lib/kubelet/kubeconfig',
    '--cloud-provider': 'external',
    '--cluster-dns': config.clusterDnsServiceIp,
    '--cluster-domain': 'cluster.local',
    '--rotate-certificates': 'true',
    '--max-pods': String(nodeClass.maxPods),
    '--eviction-hard': 'memory.available<750Mi',
    '--kube-reserved': list(formatResources(kubeReserved)),
    '--system-reserved': list({ cpu: '0', memory: '0', ...formatResources(systemReserved) }),
    '--register-with-taints': [unregistered, ...taints].map(describeTaint).join(','),
  }
}

/** A subnet id's parts. Errors: throws when it is not one (the CRD and the node class status check it before). */
export function parseSubnet(id: string): {
  readonly resourceGroup: string
  readonly vnet: string
  readonly name: string
} {
  const match =
    /^\/subscriptions\/[^/]+\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Network\/virtualNetworks\/([^/]+)\/subnets\/([^/]+)$/i.exec(
      id,
    )
  if (match === null)
    throw new Error(
      `vnetSubnetID "${id}": not the id of a subnet; expected /subscriptions/.../virtualNetworks/.../subnets/...`,
    )
  return { resourceGroup: match[1] as string, vnet: match[2] as string, name: match[3] as string }
}

/** Labels that the kubelet registers with (reference/azure-provider.md 2.2); Karpenter's own keys arrive with registration. */
export function kubeletLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => kubeletMaySet(key)))
}

const kubeletOwn: ReadonlySet<string> = new Set([
  known.hostname,
  known.zone,
  known.region,
  known.instanceType,
  known.os,
  known.arch,
])

function kubeletMaySet(key: string): boolean {
  const slash = key.indexOf('/')
  const domain = slash < 0 ? '' : key.slice(0, slash)
  const inDomain = (suffix: string) => domain === suffix || domain.endsWith(`.${suffix}`)
  if (!inDomain('kubernetes.io') && !inDomain('k8s.io')) return true
  return kubeletOwn.has(key) || inDomain('kubelet.kubernetes.io') || inDomain('node.kubernetes.io')
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
