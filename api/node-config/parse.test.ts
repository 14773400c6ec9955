import { describe, expect, it } from 'vitest'
import { missingFields, parseNodeConfig } from './parse.ts'

const pidsLimit = 'kubelet_config.kubelet_config_file_config.pod_pids_limit'

describe('a node configuration', () => {
  it('is read under both kinds of names, into those of the protocol', () => {
    const { config, problems } = parseNodeConfig({
      clusterConfig: { vmType: 'VM_TYPE_STANDARD', cluster_network_config: { coreDnsServiceIp: '10.0.0.10' } },
      kubelet_config: { kubeletConfigFileConfig: { clusterDNS: ['10.0.0.10'], cpu_cfs_quota_period: '50ms' } },
    })
    expect(problems).toEqual([])
    expect(config).toEqual({
      cluster_config: { vm_type: 'VM_TYPE_STANDARD', cluster_network_config: { core_dns_service_ip: '10.0.0.10' } },
      kubelet_config: { kubelet_config_file_config: { cluster_dns: ['10.0.0.10'], cpu_cfs_quota_period: '50ms' } },
    })
  })

  it.each([
    ['a field', { version: 'v1', future: 1 }, 'future', 'field'],
    ['a field within', { gpu_config: { future: true } }, 'gpu_config.future', 'field'],
    ['a value', { cluster_config: { vm_type: 'VM_TYPE_FUTURE' } }, 'cluster_config.vm_type', 'value'],
    [
      'a field of a map',
      { local_dns_profile: { vnet_dns_overrides: { '.': { x: 1 } } } },
      'local_dns_profile.vnet_dns_overrides["."].x',
      'field',
    ],
  ])('leaves out %s that is not known, and reports it', (_, json, path, what) => {
    const { config, problems } = parseNodeConfig(json)
    expect(problems).toEqual([{ path, kind: 'unknown', what }])
    expect(JSON.stringify(config)).not.toContain('uture')
  })

  it.each([
    [{ version: 1 }, 'version'],
    [{ is_vhd: 'true' }, 'is_vhd'],
    [{ cse_timeout: 1.5 }, 'cse_timeout'],
    [{ cse_timeout: 3_000_000_000 }, 'cse_timeout'],
    [{ custom_ca_certs: 'x' }, 'custom_ca_certs'],
    [{ custom_ca_certs: ['x', 1] }, 'custom_ca_certs[1]'],
    [{ enabled_features: { a: 1 } }, 'enabled_features["a"]'],
    [{ auth_config: [] }, 'auth_config'],
    [{ kubelet_config: { kubelet_config_file_config: { pod_pids_limit: 2 ** 63 } } }, pidsLimit],
    [{ cse_timeout: ' 900' }, 'cse_timeout'],
    [{ cluster_config: { vm_type: true } }, 'cluster_config.vm_type'],
    [{ vm_size: 'a', vmSize: 'a' }, 'vm_size'],
    ['text', ''],
  ])('refuses %j', (json, path) => {
    expect(parseNodeConfig(json).problems).toMatchObject([{ path, kind: 'invalid' }])
  })

  it('takes numbers as text and enums as numbers, as protobuf does', () => {
    const { config, problems } = parseNodeConfig({ cse_timeout: '900', cluster_config: { vm_type: 1, location: null } })
    expect(problems).toEqual([])
    expect(config).toEqual({ cse_timeout: 900, cluster_config: { vm_type: 'VM_TYPE_STANDARD' } })
  })

  it('names the fields that are missing', () => {
    expect(
      missingFields({ version: 'v1', auth_config: { subscription_id: '' }, cluster_config: { location: 'x' } }),
    ).toEqual([
      'auth_config.subscription_id',
      'cluster_config.resource_group',
      'cluster_config.cluster_network_config.vnet_name',
      'cluster_config.cluster_network_config.route_table',
      'api_server_config.api_server_name',
    ])
  })
})
