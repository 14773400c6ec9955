import type { NodeConfig } from '../../../api/node-config/schema.ts'
import type { NodeClassSpec } from '../../../api/objects.ts'
import { parseGoDuration } from '../../../core/values/duration.ts'
import { quantity } from '../../../core/values/quantity.ts'
import { entryOf } from '../../../core/values/records.ts'
import type { KubeletSettings } from '../node-class/node-class-settings.ts'

type LinuxOs = NonNullable<NodeClassSpec['linuxOSConfig']>
type KernelSettings = NonNullable<LinuxOs['sysctls']>
type OsConfig = NonNullable<NodeConfig['custom_linux_os_config']>
type Sysctls = NonNullable<OsConfig['sysctl_config']>
type KubeletConfig = NonNullable<NodeConfig['kubelet_config']>

const sysctlFields: Readonly<Record<keyof KernelSettings, keyof Sysctls>> = {
  fsAioMaxNr: 'fs_aio_max_nr',
  fsFileMax: 'fs_file_max',
  fsInotifyMaxUserWatches: 'fs_inotify_max_user_watches',
  fsNrOpen: 'fs_nr_open',
  kernelThreadsMax: 'kernel_threads_max',
  netCoreNetdevMaxBacklog: 'net_core_netdev_max_backlog',
  netCoreOptmemMax: 'net_core_optmem_max',
  netCoreRmemDefault: 'net_core_rmem_default',
  netCoreRmemMax: 'net_core_rmem_max',
  netCoreSomaxconn: 'net_core_somaxconn',
  netCoreWmemDefault: 'net_core_wmem_default',
  netCoreWmemMax: 'net_core_wmem_max',
  netIPv4IPLocalPortRange: 'net_ipv4_ip_local_port_range',
  netIPv4NeighDefaultGcThresh1: 'net_ipv4_neigh_default_gc_thresh1',
  netIPv4NeighDefaultGcThresh2: 'net_ipv4_neigh_default_gc_thresh2',
  netIPv4NeighDefaultGcThresh3: 'net_ipv4_neigh_default_gc_thresh3',
  netIPv4TCPFinTimeout: 'net_ipv4_tcp_fin_timeout',
  netIPv4TCPKeepaliveIntvl: 'net_ipv4_tcpkeepalive_intvl',
  netIPv4TCPKeepaliveProbes: 'net_ipv4_tcp_keepalive_probes',
  netIPv4TCPKeepaliveTime: 'net_ipv4_tcp_keepalive_time',
  netIPv4TCPMaxSynBacklog: 'net_ipv4_tcp_max_syn_backlog',
  netIPv4TCPMaxTwBuckets: 'net_ipv4_tcp_max_tw_buckets',
  netIPv4TCPTwReuse: 'net_ipv4_tcp_tw_reuse',
  netNetfilterNfConntrackBuckets: 'net_netfilter_nf_conntrack_buckets',
  netNetfilterNfConntrackMax: 'net_netfilter_nf_conntrack_max',
  vmMaxMapCount: 'vm_max_map_count',
  vmSwappiness: 'vm_swappiness',
  vmVfsCachePressure: 'vm_vfs_cache_pressure',
}

const mebibyte = 1_048_576n * 1_000_000_000n

/** Returns kernel settings, swap and huge pages of the node; undefined when the node image decides all of them. */
export function linuxOsConfig(os: LinuxOs | undefined): OsConfig | undefined {
  if (os === undefined || Object.keys(os).length === 0) return undefined
  const { swapFileSize, transparentHugePageEnabled, transparentHugePageDefrag, sysctls } = os
  return {
    ...(sysctls === undefined ? {} : { sysctl_config: sysctlConfig(sysctls) }),
    ...(swapFileSize === undefined
      ? {}
      : { enable_swap_config: true, swap_file_size: Number(quantity(swapFileSize).nano / mebibyte) }),
    ...(transparentHugePageEnabled === undefined ? {} : { transparent_hugepage_support: transparentHugePageEnabled }),
    ...(transparentHugePageDefrag === undefined ? {} : { transparent_defrag: transparentHugePageDefrag }),
  }
}

function sysctlConfig(sysctls: KernelSettings): Sysctls {
  return Object.fromEntries(
    Object.entries(sysctls).flatMap(([name, value]) => {
      const field = entryOf(sysctlFields, name)
      return field === undefined ? [] : [[field, value]]
    }),
  )
}

/**
 * Returns the kubelet's configuration file, for fields without a flag; all else stays a flag, and nothing is set twice. Undefined when there are
 * only kubelet's own defaults. A CPU quota period needs a feature gate besides.
 */
export function kubeletConfigFile(
  kubelet: KubeletSettings,
): Pick<KubeletConfig, 'enable_kubelet_config_file' | 'kubelet_config_file_config'> | undefined {
  const { cpuCFSQuotaPeriod: period, failSwapOn } = kubelet
  const ownPeriod = period !== undefined && isOwnPeriod(period)
  if (!ownPeriod && failSwapOn === undefined) return undefined
  return {
    enable_kubelet_config_file: true,
    kubelet_config_file_config: {
      kind: 'KubeletConfiguration',
      api_version: 'kubelet.config.k8s.io/v1beta1',
      ...(ownPeriod ? { cpu_cfs_quota_period: period, feature_gates: { CustomCPUCFSQuotaPeriod: true } } : {}),
      ...(failSwapOn === undefined ? {} : { fail_swap_on: failSwapOn }),
    },
  }
}

const kubeletsPeriod = 100_000_000n

/** Returns whether a period is kubelet's own. The CRD defaults it to that, so it is no preference. Zero means kubelet's own too. */
function isOwnPeriod(period: string): boolean {
  const nanoseconds = parseGoDuration(period)
  return nanoseconds !== undefined && nanoseconds !== kubeletsPeriod && nanoseconds !== 0n
}
