import {
  armEndpoint,
  cloudOf,
  fixed,
  flag,
  gpuDriver,
  isCustomCloud,
  isSet,
  joined,
  needsFabricManager,
  number,
  type Rule,
  sortedPairs,
  text,
  timeout,
  word,
} from './cse-rules.ts'
import type { NodeConfig } from './node-config.ts'
import { isAtLeast } from './version.ts'

const network = 'cluster_config.cluster_network_config'
const balancer = 'cluster_config.load_balancer_config'
const cloudProvider = 'cluster_config.cloud_provider_config'
const bootstrap = 'bootstrapping_config'
const secureTls = 'bootstrapping_config.secure_tls_bootstrapping'
const linux = 'custom_linux_os_config'
const proxy = 'http_proxy_config'
const search = 'custom_search_domain_config'
const localDns = 'local_dns_profile'
const pulls = 'service_account_image_pull_profile'
const scripts = '/opt/azure/containers'

/** Where the variable of each field comes from: one row per variable (reference/bootstrap.md 4). */
const rules: Readonly<Record<string, Rule>> = {
  ADMINUSER: text('linux_admin_username', 'azureuser'),
  AKS_CUSTOM_CLOUD_CONTAINER_REGISTRY_DNS_SUFFIX: text('custom_cloud_config.container_registry_dns_suffix'),
  APISERVER_PUBLIC_KEY: text('api_server_config.api_server_public_key'),
  API_SERVER_NAME: text('api_server_config.api_server_name'),
  ARM_RESOURCE_ENDPOINT: armEndpoint,
  ARTIFACT_STREAMING_ENABLED: flag('enable_artifact_streaming'),
  AZURE_ENVIRONMENT_FILEPATH: (config) => (isCustomCloud(config) ? '/etc/kubernetes/akscustom.json' : ''),
  AZURE_PRIVATE_REGISTRY_SERVER: text('azure_private_registry_server'),
  BOOTSTRAP_PROFILE_CONTAINER_REGISTRY_SERVER: text('bootstrap_profile_container_registry_server'),
  CLI_TOOL: fixed('ctr'),
  CLOUDPROVIDER_BACKOFF: flag(`${cloudProvider}.backoff`, true),
  CLOUDPROVIDER_BACKOFF_DURATION: number(`${cloudProvider}.backoff_duration`, 5),
  CLOUDPROVIDER_BACKOFF_EXPONENT: number(`${cloudProvider}.backoff_exponent`),
  CLOUDPROVIDER_BACKOFF_JITTER: number(`${cloudProvider}.backoff_jitter`),
  CLOUDPROVIDER_BACKOFF_MODE: text(`${cloudProvider}.backoff_mode`, 'v2'),
  CLOUDPROVIDER_BACKOFF_RETRIES: number(`${cloudProvider}.backoff_retries`, 6),
  CLOUDPROVIDER_RATELIMIT: flag(`${cloudProvider}.rate_limit`, true),
  CLOUDPROVIDER_RATELIMIT_BUCKET: number(`${cloudProvider}.rate_limit_bucket`, 100),
  CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE: number(`${cloudProvider}.rate_limit_bucket_write`, 100),
  CLOUDPROVIDER_RATELIMIT_QPS: number(`${cloudProvider}.rate_limit_qps`, 10),
  CLOUDPROVIDER_RATELIMIT_QPS_WRITE: number(`${cloudProvider}.rate_limit_qps_write`, 10),
  CONFIG_GPU_DRIVER_IF_NEEDED: flag('gpu_config.config_gpu_driver'),
  CONTAINERD_DOWNLOAD_URL_BASE: text('containerd_config.containerd_download_url_base'),
  CONTAINERD_PACKAGE_URL: text('containerd_config.containerd_package_url'),
  CONTAINERD_ULIMITS: containerdLimits,
  CONTAINERD_VERSION: text('containerd_config.containerd_version'),
  CREDENTIAL_PROVIDER_DOWNLOAD_URL: text('kube_binary_config.linux_credential_provider_url'),
  CSE_CONFIG_FILEPATH: fixed(`${scripts}/provision_configs.sh`),
  CSE_DISTRO_HELPERS_FILEPATH: fixed(`${scripts}/provision_source_distro.sh`),
  CSE_DISTRO_INSTALL_FILEPATH: fixed(`${scripts}/provision_installs_distro.sh`),
  CSE_HELPERS_FILEPATH: fixed(`${scripts}/provision_source.sh`),
  CSE_INSTALL_FILEPATH: fixed(`${scripts}/provision_installs.sh`),
  CSE_TIMEOUT: timeout,
  CUSTOM_CA_TRUST_COUNT: (config) => String(config.list('custom_ca_certs').length),
  CUSTOM_ENV_JSON: text('custom_cloud_config.custom_env_json_content'),
  CUSTOM_KUBE_BINARY_URL: text('kube_binary_config.custom_kube_binary_url'),
  CUSTOM_SEARCH_DOMAIN_FILEPATH: fixed(`${scripts}/setup-custom-search-domains.sh`),
  CUSTOM_SEARCH_DOMAIN_NAME: text(`${search}.domain_name`),
  CUSTOM_SEARCH_REALM_PASSWORD: text(`${search}.realm_password`),
  CUSTOM_SEARCH_REALM_USER: text(`${search}.realm_user`),
  CUSTOM_SECURE_TLS_BOOTSTRAPPING_CLIENT_DOWNLOAD_URL: text(`${secureTls}_custom_client_download_url`),
  DHCPV6_CONFIG_FILEPATH: fixed(`${scripts}/enable-dhcpv6.sh`),
  DHCPV6_SERVICE_FILEPATH: fixed('/etc/systemd/system/dhcpv6.service'),
  DISABLE_PUBKEY_AUTH: flag('disable_pubkey_auth'),
  DISABLE_SSH: (config) => String(!config.flag('enable_ssh', true)),
  ENABLE_GPU_DEVICE_PLUGIN_IF_NEEDED: flag('gpu_config.gpu_device_plugin'),
  ENABLE_HOSTS_CONFIG_AGENT: flag('enable_hosts_config_agent'),
  ENABLE_IMDS_RESTRICTION: flag('imds_restriction_config.enable_imds_restriction'),
  ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION: flag('kubelet_config.kubelet_config_file_config.server_tls_bootstrap'),
  ENABLE_MANAGED_GPU: flag('gpu_config.enable_managed_gpu'),
  ENABLE_MANAGED_GPU_DRA: flag('gpu_config.enable_managed_gpu_dra'),
  ENABLE_SECURE_TLS_BOOTSTRAPPING: (config) =>
    String(config.text(`${bootstrap}.bootstrapping_auth_method`).endsWith('_SECURE_TLS_BOOTSTRAPPING')),
  ENABLE_UNATTENDED_UPGRADES: flag('enable_unattended_upgrade'),
  ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE: (config) =>
    String(
      config.text('network_config.network_plugin') === 'NETWORK_PLUGIN_KUBENET' &&
        config.text('network_config.network_policy') !== 'NETWORK_POLICY_CALICO',
    ),
  EXCLUDE_MASTER_FROM_STANDARD_LB: flag(`${balancer}.exclude_master_from_standard_load_balancer`, true),
  GPU_DRIVER_TYPE: (config) => gpuDriver(config.text('vm_size')).type,
  GPU_DRIVER_VERSION: (config) => gpuDriver(config.text('vm_size')).version,
  GPU_IMAGE_SHA: (config) => gpuDriver(config.text('vm_size')).image,
  GPU_INSTANCE_PROFILE: text('gpu_config.gpu_instance_profile'),
  GPU_NEEDS_FABRIC_MANAGER: (config) => String(needsFabricManager(config.text('vm_size'))),
  GPU_NODE: flag('gpu_config.enable_nvidia'),
  HAS_CUSTOM_SEARCH_DOMAIN: (config) =>
    String(['domain_name', 'realm_user', 'realm_password'].every((field) => config.text(`${search}.${field}`) !== '')),
  HAS_KUBELET_DISK_TYPE: (config) =>
    String(config.text('kubelet_config.kubelet_disk_type') === 'KUBELET_DISK_TEMP_DISK'),
  HTTPS_PROXY_URLS: text(`${proxy}.https_proxy`),
  HTTP_PROXY_TRUSTED_CA: (config) => oneLine(config.text(`${proxy}.proxy_trusted_ca`)),
  HTTP_PROXY_URLS: text(`${proxy}.http_proxy`),
  IDENTITY_BINDINGS_LOCAL_AUTHORITY_SNI: text(`${pulls}.local_authority_sni`),
  INIT_AKS_CLOUD_FILEPATH: fixed(`${scripts}/init-aks-cloud.sh`),
  INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE: flag(
    'imds_restriction_config.insert_imds_restriction_rule_to_mangle_table',
  ),
  IPV6_DUAL_STACK_ENABLED: flag('ipv6_dual_stack_enabled'),
  IS_CUSTOM_CLOUD: (config) => String(isCustomCloud(config)),
  IS_KATA: flag('is_kata'),
  IS_VHD: flag('is_vhd', true),
  KUBELET_CLIENT_CERT_CONTENT: text('kubelet_config.kubelet_client_cert_content'),
  KUBELET_CLIENT_CONTENT: text('kubelet_config.kubelet_client_key'),
  KUBELET_CONFIG_FILE_ENABLED: flag('kubelet_config.enable_kubelet_config_file'),
  KUBELET_FLAGS: sortedPairs('kubelet_config.kubelet_flags', ' ', isFlagGone),
  KUBELET_NODE_LABELS: sortedPairs('kubelet_config.kubelet_node_labels', ','),
  KUBEPROXY_URL: text('kube_proxy_url'),
  KUBERNETES_VERSION: text('kubernetes_version'),
  KUBE_BINARY_URL: text('kube_binary_config.kube_binary_url'),
  KUBE_CA_CRT: text('kubernetes_ca_cert'),
  LOAD_BALANCER_DISABLE_OUTBOUND_SNAT: flag(`${balancer}.disable_outbound_snat`),
  LOAD_BALANCER_SKU: word(`${balancer}.load_balancer_sku`, 'LOAD_BALANCER_SKU_', ['basic', 'standard']),
  LOCALDNS_CPU_LIMIT: (config) => `${(config.number(`${localDns}.cpu_limit_in_milli_cores`, 2000) / 10).toFixed(1)}%`,
  LOCALDNS_CRITICAL_FQDNS: joined(`${localDns}.critical_fqdns`),
  LOCALDNS_HOSTS_PLUGIN_REFRESH_INTERVAL_IN_SECONDS: (config) =>
    config.has(`${localDns}.hosts_plugin_refresh_interval_in_seconds`)
      ? String(config.number(`${localDns}.hosts_plugin_refresh_interval_in_seconds`))
      : '',
  LOCALDNS_MEMORY_LIMIT: (config) => `${config.number(`${localDns}.memory_limit_in_mb`, 128)}M`,
  LOCATION: text('cluster_config.location'),
  MANAGED_GPU_EXPERIENCE_AFEC_ENABLED: flag('gpu_config.managed_gpu_experience_afec_enabled'),
  MAXIMUM_LOADBALANCER_RULE_COUNT: number(`${balancer}.max_load_balancer_rule_count`, 148),
  MESSAGE_OF_THE_DAY: text('message_of_the_day'),
  MIG_NODE: isSet('gpu_config.gpu_instance_profile'),
  MOBY_VERSION: fixed(''),
  NEEDS_CGROUPV2: flag('needs_cgroupv2'),
  NETWORK_ISOLATED_CLUSTER_TEST_MODE: fixed('false'),
  NETWORK_MODE: fixed(''),
  NETWORK_PLUGIN: word('network_config.network_plugin', 'NETWORK_PLUGIN_', ['none', 'azure', 'kubenet']),
  NETWORK_POLICY: word('network_config.network_policy', 'NETWORK_POLICY_', ['azure', 'calico']),
  NETWORK_SECURITY_GROUP: text(`${network}.security_group_name`),
  NO_PROXY_URLS: joined(`${proxy}.no_proxy_entries`),
  NVIDIA_MIG_PROFILE_LAYOUT: joined('gpu_config.mig_profile_layout'),
  NVIDIA_MIG_STRATEGY: text('gpu_config.mig_strategy'),
  OUTBOUND_COMMAND: text('outbound_command'),
  PRE_PROVISION_ONLY: flag('pre_provision_only'),
  PRIMARY_AVAILABILITY_SET: text('cluster_config.primary_availability_set'),
  PRIMARY_SCALE_SET: text('cluster_config.primary_scale_set'),
  PRIVATE_EGRESS_PROXY_ADDRESS: text('private_egress_proxy_address'),
  PRIVATE_KUBE_BINARY_URL: text('kube_binary_config.private_kube_binary_url'),
  PROVISION_OUTPUT: fixed('/var/log/azure/cluster-provision-cse-output.log'),
  PROXY_VARS: proxyVariables,
  REPO_DEPOT_ENDPOINT: text('custom_cloud_config.repo_depot_endpoint'),
  RESOURCE_GROUP: text('cluster_config.resource_group'),
  ROUTE_TABLE: text(`${network}.route_table`),
  RUNC_PACKAGE_URL: text('runc_config.runc_package_url'),
  RUNC_VERSION: text('runc_config.runc_version'),
  SECURE_TLS_BOOTSTRAPPING_AAD_RESOURCE: text(`${secureTls}_aad_resource`),
  SECURE_TLS_BOOTSTRAPPING_GET_ACCESS_TOKEN_TIMEOUT: text(`${secureTls}_get_access_token_timeout`),
  SECURE_TLS_BOOTSTRAPPING_GET_ATTESTED_DATA_TIMEOUT: text(`${secureTls}_get_attested_data_timeout`),
  SECURE_TLS_BOOTSTRAPPING_GET_CREDENTIAL_TIMEOUT: text(`${secureTls}_get_credential_timeout`),
  SECURE_TLS_BOOTSTRAPPING_GET_INSTANCE_DATA_TIMEOUT: text(`${secureTls}_get_instance_data_timeout`),
  SECURE_TLS_BOOTSTRAPPING_GET_NONCE_TIMEOUT: text(`${secureTls}_get_nonce_timeout`),
  SECURE_TLS_BOOTSTRAPPING_USER_ASSIGNED_IDENTITY_ID: text(`${secureTls}_user_assigned_identity_id`),
  SECURE_TLS_BOOTSTRAPPING_VALIDATE_KUBECONFIG_TIMEOUT: text(`${secureTls}_validate_kubeconfig_timeout`),
  SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_CLIENT_ID: text(`${pulls}.default_client_id`),
  SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_TENANT_ID: text(`${pulls}.default_tenant_id`),
  SERVICE_ACCOUNT_IMAGE_PULL_ENABLED: flag(`${pulls}.enabled`),
  SERVICE_PRINCIPAL_CLIENT_ID: text('auth_config.service_principal_id'),
  SERVICE_PRINCIPAL_FILE_CONTENT: text('auth_config.service_principal_secret'),
  SGX_NODE: (config) => String(['Standard_DC2s', 'Standard_DC4s'].includes(config.text('vm_size'))),
  SHOULD_CONFIGURE_CUSTOM_CA_TRUST: (config) => String(config.list('custom_ca_certs').length > 0),
  SHOULD_CONFIGURE_HTTP_PROXY: isSet(`${proxy}.http_proxy`, `${proxy}.https_proxy`),
  SHOULD_CONFIGURE_HTTP_PROXY_CA: isSet(`${proxy}.proxy_trusted_ca`),
  SHOULD_CONFIG_CONTAINERD_ULIMITS: (config) => String(config.has(`${linux}.ulimit_config`)),
  SHOULD_CONFIG_SWAP_FILE: (config) =>
    String(config.flag(`${linux}.enable_swap_config`) && config.number(`${linux}.swap_file_size`) > 0),
  SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE: isSet(`${linux}.transparent_hugepage_support`, `${linux}.transparent_defrag`),
  SHOULD_ENABLE_HOSTS_PLUGIN: (config) =>
    String(config.flag(`${localDns}.enable_local_dns`) && config.flag(`${localDns}.enable_hosts_plugin`)),
  SHOULD_ENABLE_LOCALDNS: flag(`${localDns}.enable_local_dns`),
  SKIP_WAAGENT_HOLD: fixed('true'),
  STANDARD_SECONDARY_NIC_COUNT: number('network_config.standard_secondary_nic_count'),
  SUBNET: text(`${network}.subnet`),
  SUBSCRIPTION_ID: text('auth_config.subscription_id'),
  SWAP_FILE_SIZE_MB: number(`${linux}.swap_file_size`),
  TARGET_CLOUD: (config) => (isCustomCloud(config) ? 'AzureStackCloud' : cloudOf(config)),
  TARGET_ENVIRONMENT: (config) => (isCustomCloud(config) ? 'akscustom' : cloudOf(config)),
  TENANT_ID: text('auth_config.tenant_id'),
  THP_DEFRAG: text(`${linux}.transparent_defrag`),
  THP_ENABLED: text(`${linux}.transparent_hugepage_support`),
  TLS_BOOTSTRAP_TOKEN: text(`${bootstrap}.tls_bootstrapping_token`),
  USER_ASSIGNED_IDENTITY_ID: text('auth_config.assigned_identity_id'),
  USE_INSTANCE_METADATA: flag('cluster_config.use_instance_metadata'),
  USE_MANAGED_IDENTITY_EXTENSION: flag('auth_config.use_managed_identity_extension'),
  VIRTUAL_NETWORK: text(`${network}.vnet_name`),
  VIRTUAL_NETWORK_RESOURCE_GROUP: text(`${network}.vnet_resource_group`),
  VM_TYPE: word('cluster_config.vm_type', 'VM_TYPE_', ['standard', 'vmss']),
  VNET_CNI_PLUGINS_URL: text('network_config.vnet_cni_plugins_url'),
}

/**
 * The environment that the node's controller hands to the provisioning scripts. Contents of files that depend on the image
 * (containerd, kubenet, localDNS), the sysctl file and the kubelet's file are not among them.
 */
export function cseEnvironment(config: NodeConfig): Readonly<Record<string, string>> {
  const environment = Object.fromEntries(Object.entries(rules).map(([variable, rule]) => [variable, rule(config)]))
  for (const [index, certificate] of config.list('custom_ca_certs').entries())
    environment[`CUSTOM_CA_CERT_${index}`] = oneLine(certificate)
  return environment
}

/** The node takes away the one flag that a kubelet of its version does not know any more. */
function isFlagGone(flag: string, config: NodeConfig): boolean {
  return flag === '--streaming-connection-idle-timeout' && isAtLeast(config.text('kubernetes_version'), 1, 34)
}

const oneLine = (value: string) => value.replaceAll(/[\r\n]/g, '')

function containerdLimits(config: NodeConfig): string {
  const limits = `${linux}.ulimit_config`
  if (!config.has(limits)) return ''
  const lines = [
    ['LimitMEMLOCK', `${limits}.max_locked_memory`],
    ['LimitNOFILE', `${limits}.no_file`],
  ].flatMap(([name, path = '']) => (config.has(path) ? [`${name}=${config.text(path)}`] : []))
  return `[Service]\n${lines.join(' ')}`
}

/** Shell text that the scripts run before they go out; curl wants its `http_proxy` in small letters. */
function proxyVariables(config: NodeConfig): string {
  const exclusions = config.list(`${proxy}.no_proxy_entries`)
  const assignments = [
    ['http_proxy', config.text(`${proxy}.http_proxy`)],
    ['HTTPS_PROXY', config.text(`${proxy}.https_proxy`)],
    ['NO_PROXY', exclusions.join(',')],
  ] as const
  return assignments
    .filter(([name, value]) => (name === 'NO_PROXY' ? exclusions.length > 0 : value !== ''))
    .reduce((rest, [name, value]) => `export ${name}="${value}";${name === 'http_proxy' ? '' : ` ${rest}`}`, '')
}
