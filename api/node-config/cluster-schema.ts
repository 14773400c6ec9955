import { bool, double, int32, message, oneOf, string } from './field.ts'

/** The cluster that a node belongs to, as its configuration tells it. */
export const clusterConfig = message({
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
