// The parts of an AKSNodeClass that end up in files on the node: kubelet and kernel settings.
import { z } from 'zod'
import { crdExtensions } from './fields.ts'

const sizeText = z.string().regex(/^\d+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)$/, 'write a size such as 50Mi')
const percent = z.int().min(0).max(100).meta({ format: 'int32' })

export const kubelet = z
  .object({
    cpuManagerPolicy: z
      .enum(['none', 'static'])
      .default('none')
      .describe('CPU manager policy: static gives Guaranteed pods with whole CPUs exclusive CPUs.'),
    cpuCFSQuota: z.boolean().default(true).describe('Enforces the CPU limits of containers (CFS quota).'),
    cpuCFSQuotaPeriod: z
      .string()
      .default('100ms')
      .describe('Period over which CPU limits are enforced, from 1ms to 1s.'),
    imageGCHighThresholdPercent: percent
      .optional()
      .describe('Disk usage in percent above which image garbage collection always runs.'),
    imageGCLowThresholdPercent: percent
      .optional()
      .describe('Disk usage in percent down to which image garbage collection removes images.'),
    topologyManagerPolicy: z
      .enum(['none', 'restricted', 'best-effort', 'single-numa-node'])
      .default('none')
      .describe(
        'How CPUs and devices of a pod keep to NUMA nodes: none does not care, best-effort tries, restricted refuses pods that cannot be placed best, single-numa-node those that need more than one.',
      ),
    allowedUnsafeSysctls: z
      .array(z.string())
      .optional()
      .describe('Unsafe sysctls that pods may set, such as net.core.somaxconn or kernel.msg*.'),
    containerLogMaxSize: sizeText
      .default('50Mi')
      .describe('Size at which a container log file is rotated, such as 50Mi.'),
    containerLogMaxFiles: z
      .int()
      .min(2)
      .default(5)
      .meta({ format: 'int32' })
      .describe('Maximum number of log files per container.'),
    podPidsLimit: z
      .int()
      .optional()
      .meta({ format: 'int64' })
      .describe('Maximum number of processes per pod. -1 or unset means no limit.'),
    failSwapOn: z
      .boolean()
      .optional()
      .describe('Makes kubelet fail to start when swap is enabled. Must be false with linuxOSConfig.swapFileSize.'),
  })
  .describe('Settings of kubelet. The defaults shown apply when the object is set.')
  .register(crdExtensions, {
    cel: [
      {
        rule: 'has(self.imageGCHighThresholdPercent) && has(self.imageGCLowThresholdPercent) ? self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent : true',
        message: 'imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent',
      },
    ],
  })

const setting = (name: string, min: number, max: number) =>
  z
    .int()
    .min(min)
    .max(max)
    .optional()
    .meta({ format: 'int32' })
    .describe(`Kernel setting ${name}, from ${min} to ${max}.`)

const atMost = (low: string, high: string) => ({
  rule: `!has(self.${low}) || !has(self.${high}) || self.${low} <= self.${high}`,
  message: `${low} must be at most ${high}`,
})

const firstPort = "int(self.netIPv4IPLocalPortRange.split(' ')[0])"
const lastPort = "int(self.netIPv4IPLocalPortRange.split(' ')[1])"
const ports = (rule: string, message: string) => ({
  rule: `!has(self.netIPv4IPLocalPortRange) || ${rule}`,
  message: `netIPv4IPLocalPortRange ${message}`,
})

const sysctls = z
  .object({
    fsAioMaxNr: setting('fs.aio-max-nr', 65536, 6553500),
    fsFileMax: setting('fs.file-max', 8192, 12000500),
    fsInotifyMaxUserWatches: setting('fs.inotify.max_user_watches', 781250, 2097152),
    fsNrOpen: setting('fs.nr_open', 8192, 20000500),
    kernelThreadsMax: setting('kernel.threads-max', 20, 513785),
    netCoreNetdevMaxBacklog: setting('net.core.netdev_max_backlog', 1000, 3240000),
    netCoreOptmemMax: setting('net.core.optmem_max', 20480, 4194304),
    netCoreRmemDefault: setting('net.core.rmem_default', 212992, 134217728),
    netCoreRmemMax: setting('net.core.rmem_max', 212992, 134217728),
    netCoreSomaxconn: setting('net.core.somaxconn', 4096, 3240000),
    netCoreWmemDefault: setting('net.core.wmem_default', 212992, 134217728),
    netCoreWmemMax: setting('net.core.wmem_max', 212992, 134217728),
    netIPv4IPLocalPortRange: z
      .string()
      .regex(/^\d+ \d+$/, 'write two ports such as "32768 60999"')
      .optional()
      .describe(
        'Kernel setting net.ipv4.ip_local_port_range: first port (1024 to 60999) and last port (32768 to 65535) with one space between.',
      ),
    netIPv4NeighDefaultGcThresh1: setting('net.ipv4.neigh.default.gc_thresh1', 128, 80000),
    netIPv4NeighDefaultGcThresh2: setting('net.ipv4.neigh.default.gc_thresh2', 512, 90000),
    netIPv4NeighDefaultGcThresh3: setting('net.ipv4.neigh.default.gc_thresh3', 1024, 100000),
    netIPv4TCPFinTimeout: setting('net.ipv4.tcp_fin_timeout', 5, 120),
    netIPv4TCPKeepaliveIntvl: setting('net.ipv4.tcp_keepalive_intvl', 10, 90),
    netIPv4TCPKeepaliveProbes: setting('net.ipv4.tcp_keepalive_probes', 1, 15),
    netIPv4TCPKeepaliveTime: setting('net.ipv4.tcp_keepalive_time', 30, 432000),
    netIPv4TCPMaxSynBacklog: setting('net.ipv4.tcp_max_syn_backlog', 128, 3240000),
    netIPv4TCPMaxTwBuckets: setting('net.ipv4.tcp_max_tw_buckets', 8000, 1440000),
    netIPv4TCPTwReuse: z.boolean().optional().describe('Kernel setting net.ipv4.tcp_tw_reuse.'),
    netNetfilterNfConntrackBuckets: setting('net.netfilter.nf_conntrack_buckets', 65536, 524288),
    netNetfilterNfConntrackMax: setting('net.netfilter.nf_conntrack_max', 131072, 2097152),
    vmMaxMapCount: setting('vm.max_map_count', 65530, 262144),
    vmSwappiness: setting('vm.swappiness', 0, 100),
    vmVfsCachePressure: setting('vm.vfs_cache_pressure', 0, 100),
  })
  .describe('Kernel settings of the node.')
  .register(crdExtensions, {
    cel: [
      atMost('netCoreRmemDefault', 'netCoreRmemMax'),
      atMost('netCoreWmemDefault', 'netCoreWmemMax'),
      atMost('netIPv4NeighDefaultGcThresh1', 'netIPv4NeighDefaultGcThresh2'),
      atMost('netIPv4NeighDefaultGcThresh2', 'netIPv4NeighDefaultGcThresh3'),
      ports(`(${firstPort} >= 1024 && ${firstPort} <= 60999)`, 'must begin with a port from 1024 to 60999'),
      ports(`(${lastPort} >= 32768 && ${lastPort} <= 65535)`, 'must end with a port from 32768 to 65535'),
      ports(`${firstPort} <= ${lastPort}`, 'must not begin above its end'),
    ],
  })

export const linuxOsConfig = z
  .object({
    swapFileSize: sizeText
      .optional()
      .describe('Size of a swap file on the node, such as 2Gi. Needs kubelet.failSwapOn: false.'),
    transparentHugePageDefrag: z
      .enum(['always', 'defer', 'defer+madvise', 'madvise', 'never'])
      .optional()
      .describe('Transparent huge page defragmentation.'),
    transparentHugePageEnabled: z
      .enum(['always', 'madvise', 'never'])
      .optional()
      .describe('Transparent huge pages: always, on request (madvise), or never.'),
    sysctls: sysctls.optional(),
  })
  .describe('Operating system settings of Linux nodes.')
