import { bool, double, int32, int64, list, type Message, map, message, oneOf, string } from './field.ts'
import { kubeletConfig } from './kubelet-schema.ts'

/** The cluster of a node, in the node's configuration. */
const clusterConfig = message({
  cluster_network_config: message({
    vnet_name: string,
    vnet_resource_group: string,
    subnet: string,
    security_group_name: string,
    route_table: string,
    core_dns_service_ip: string,
  }),
  load_balancer_config: message({
    load_balancer_sku: oneOf('LOAD_BALANCER_SKU_UNSPECIFIED', 'LOAD_BALANCER_SKU_BASIC', 'LOAD_BALANCER_SKU_STANDARD'),
    exclude_master_from_standard_load_balancer: bool,
    max_load_balancer_rule_count: int32,
    disable_outbound_snat: bool,
  }),
  resource_group: string,
  location: string,
  vm_type: oneOf('VM_TYPE_UNSPECIFIED', 'VM_TYPE_STANDARD', 'VM_TYPE_VMSS'),
  primary_availability_set: string,
  primary_scale_set: string,
  use_instance_metadata: bool,
  cloud_provider_config: message({
    backoff: bool,
    backoff_mode: string,
    backoff_retries: int32,
    backoff_exponent: double,
    backoff_duration: int32,
    backoff_jitter: double,
    rate_limit: bool,
    rate_limit_qps: double,
    rate_limit_qps_write: double,
    rate_limit_bucket: int32,
    rate_limit_bucket_write: int32,
  }),
})

/**
 * AKSNodeConfig, version 1: the client's input to the node controller of an AKS node image (reference/bootstrap.md 4). The tables are the only
 * definition of the fields: types are derived from them, and writers and readers of a configuration check against them.
 */

const bootstrappingConfig = message({
  bootstrapping_auth_method: oneOf(
    'BOOTSTRAPPING_AUTH_METHOD_UNSPECIFIED',
    'BOOTSTRAPPING_AUTH_METHOD_BOOTSTRAP_TOKEN',
    'BOOTSTRAPPING_AUTH_METHOD_SECURE_TLS_BOOTSTRAPPING',
    'BOOTSTRAPPING_AUTH_METHOD_ARC_MSI',
    'BOOTSTRAPPING_AUTH_METHOD_AZURE_MSI',
  ),
  cluster_join_method: oneOf(
    'CLUSTER_JOIN_METHOD_UNSPECIFIED',
    'CLUSTER_JOIN_METHOD_GENERATE_CSR',
    'CLUSTER_JOIN_METHOD_USE_BOOTSTRAPPING_AUTH',
  ),
  tls_bootstrapping_token: string,
  secure_tls_bootstrapping_aad_resource: string,
  secure_tls_bootstrapping_user_assigned_identity_id: string,
  secure_tls_bootstrapping_custom_client_download_url: string,
  secure_tls_bootstrapping_validate_kubeconfig_timeout: string,
  secure_tls_bootstrapping_get_access_token_timeout: string,
  secure_tls_bootstrapping_get_instance_data_timeout: string,
  secure_tls_bootstrapping_get_nonce_timeout: string,
  secure_tls_bootstrapping_get_attested_data_timeout: string,
  secure_tls_bootstrapping_get_credential_timeout: string,
})

const sysctlConfig = message({
  net_core_somaxconn: int32,
  net_core_netdev_max_backlog: int32,
  net_core_rmem_default: int32,
  net_core_rmem_max: int32,
  net_core_wmem_default: int32,
  net_core_wmem_max: int32,
  net_core_optmem_max: int32,
  net_ipv4_tcp_max_syn_backlog: int32,
  net_ipv4_tcp_max_tw_buckets: int32,
  net_ipv4_tcp_fin_timeout: int32,
  net_ipv4_tcp_keepalive_time: int32,
  net_ipv4_tcp_keepalive_probes: int32,
  net_ipv4_tcpkeepalive_intvl: int32,
  net_ipv4_tcp_tw_reuse: bool,
  net_ipv4_ip_local_port_range: string,
  net_ipv4_neigh_default_gc_thresh1: int32,
  net_ipv4_neigh_default_gc_thresh2: int32,
  net_ipv4_neigh_default_gc_thresh3: int32,
  net_netfilter_nf_conntrack_max: int32,
  net_netfilter_nf_conntrack_buckets: int32,
  fs_inotify_max_user_watches: int32,
  fs_file_max: int64,
  fs_aio_max_nr: int32,
  fs_nr_open: int32,
  kernel_threads_max: int32,
  vm_max_map_count: int32,
  vm_swappiness: int32,
  vm_vfs_cache_pressure: int32,
})

const dnsOverrides = map(
  message({
    query_logging: string,
    protocol: string,
    forward_destination: string,
    forward_policy: string,
    max_concurrent: int32,
    cache_duration_in_seconds: int32,
    serve_stale_duration_in_seconds: int32,
    serve_stale: string,
    failfast_all_unhealthy_upstreams: bool,
    health_check: message({ duration: string, no_rec: bool, domain: string }),
  }),
)

const localDnsProfile = message({
  enable_local_dns: bool,
  cpu_limit_in_milli_cores: int32,
  memory_limit_in_mb: int32,
  vnet_dns_overrides: dnsOverrides,
  kube_dns_overrides: dnsOverrides,
  enable_hosts_plugin: bool,
  critical_fqdns: list(string),
  hosts_plugin_refresh_interval_in_seconds: int32,
})

export const nodeConfigSchema = message({
  version: string,
  kubernetes_version: string,
  kubernetes_ca_cert: string,
  vm_size: string,
  linux_admin_username: string,
  is_vhd: bool,
  enable_ssh: bool,
  disable_pubkey_auth: bool,
  enable_unattended_upgrade: bool,
  needs_cgroupv2: bool,
  outbound_command: string,
  message_of_the_day: string,
  enable_hosts_config_agent: bool,
  custom_ca_certs: list(string),
  kube_proxy_url: string,
  provision_output: string,
  workload_runtime: oneOf('WORKLOAD_RUNTIME_UNSPECIFIED', 'WORKLOAD_RUNTIME_OCI_CONTAINER'),
  ipv6_dual_stack_enabled: bool,
  azure_private_registry_server: string,
  private_egress_proxy_address: string,
  bootstrap_profile_container_registry_server: string,
  enable_artifact_streaming: bool,
  is_kata: bool,
  disable_custom_data: bool,
  pre_provision_only: bool,
  cse_timeout: int32,
  enabled_features: map(string),
  kube_binary_config: message({
    kube_binary_url: string,
    custom_kube_binary_url: string,
    private_kube_binary_url: string,
    pod_infra_container_image_url: string,
    linux_credential_provider_url: string,
  }),
  custom_cloud_config: message({
    custom_cloud_env_name: string,
    repo_depot_endpoint: string,
    custom_env_json_content: string,
    container_registry_dns_suffix: string,
  }),
  api_server_config: message({ api_server_public_key: string, api_server_name: string }),
  cluster_config: clusterConfig,
  bootstrapping_config: bootstrappingConfig,
  auth_config: message({
    tenant_id: string,
    subscription_id: string,
    service_principal_id: string,
    service_principal_secret: string,
    assigned_identity_id: string,
    use_managed_identity_extension: bool,
  }),
  runc_config: message({ runc_version: string, runc_package_url: string }),
  containerd_config: message({
    containerd_download_url_base: string,
    containerd_version: string,
    containerd_package_url: string,
  }),
  kubelet_config: kubeletConfig,
  custom_search_domain_config: message({ domain_name: string, realm_user: string, realm_password: string }),
  custom_linux_os_config: message({
    sysctl_config: sysctlConfig,
    ulimit_config: message({ no_file: string, max_locked_memory: string }),
    enable_swap_config: bool,
    swap_file_size: int32,
    transparent_hugepage_support: string,
    transparent_defrag: string,
  }),
  http_proxy_config: message({
    http_proxy: string,
    https_proxy: string,
    no_proxy_entries: list(string),
    proxy_trusted_ca: string,
  }),
  gpu_config: message({
    enable_nvidia: bool,
    config_gpu_driver: bool,
    gpu_device_plugin: bool,
    gpu_instance_profile: string,
    enable_amd_gpu: bool,
    managed_gpu_experience_afec_enabled: bool,
    enable_managed_gpu: bool,
    mig_strategy: string,
    mig_profile_layout: list(string),
    enable_managed_gpu_dra: bool,
  }),
  network_config: message({
    network_plugin: oneOf(
      'NETWORK_PLUGIN_UNSPECIFIED',
      'NETWORK_PLUGIN_NONE',
      'NETWORK_PLUGIN_AZURE',
      'NETWORK_PLUGIN_KUBENET',
    ),
    network_policy: oneOf(
      'NETWORK_POLICY_UNSPECIFIED',
      'NETWORK_POLICY_NONE',
      'NETWORK_POLICY_AZURE',
      'NETWORK_POLICY_CALICO',
    ),
    vnet_cni_plugins_url: string,
    cni_plugins_url: string,
    standard_secondary_nic_count: int32,
  }),
  imds_restriction_config: message({
    enable_imds_restriction: bool,
    insert_imds_restriction_rule_to_mangle_table: bool,
  }),
  local_dns_profile: localDnsProfile,
  service_account_image_pull_profile: message({
    enabled: bool,
    default_client_id: string,
    default_tenant_id: string,
    local_authority_sni: string,
  }),
})

/** AKSNodeConfig as the node reads it. */
export type NodeConfig = Message<typeof nodeConfigSchema.fields>

/** Paths that the reference validation of a configuration requires (reference/bootstrap.md 4). */
export const requiredFields: readonly string[] = [
  'version',
  'auth_config.subscription_id',
  'cluster_config.resource_group',
  'cluster_config.location',
  'cluster_config.cluster_network_config.vnet_name',
  'cluster_config.cluster_network_config.route_table',
  'api_server_config.api_server_name',
]
