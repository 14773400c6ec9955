import { z } from 'zod'
import { conditionList, crdExtensions } from './fields.ts'

const sizeText = z.string().regex(/^\d+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)$/)
const percent = z.int().min(0).max(100).meta({ format: 'int32' })
const ranged = (min: number, max: number) => z.int().min(min).max(max).optional().meta({ format: 'int32' })

const kubelet = z
  .object({
    cpuManagerPolicy: z.enum(['none', 'static']).default('none'),
    cpuCFSQuota: z.boolean().default(true),
    cpuCFSQuotaPeriod: z.string().default('100ms'),
    imageGCHighThresholdPercent: percent.optional(),
    imageGCLowThresholdPercent: percent.optional(),
    topologyManagerPolicy: z.enum(['none', 'restricted', 'best-effort', 'single-numa-node']).default('none'),
    allowedUnsafeSysctls: z.array(z.string()).optional(),
    containerLogMaxSize: sizeText.default('50Mi'),
    containerLogMaxFiles: z.int().min(2).default(5).meta({ format: 'int32' }),
    podPidsLimit: z.int().optional().meta({ format: 'int64' }),
    failSwapOn: z.boolean().optional(),
  })
  .register(crdExtensions, {
    cel: [
      {
        rule: 'has(self.imageGCHighThresholdPercent) && has(self.imageGCLowThresholdPercent) ? self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent : true',
        message: 'imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent',
      },
    ],
  })

const zoneOverride = z
  .object({
    zone: z.string().min(1).max(254),
    queryLogging: z.enum(['Error', 'Log']),
    protocol: z.enum(['PreferUDP', 'ForceTCP']),
    forwardDestination: z.enum(['ClusterCoreDNS', 'VnetDNS']),
    forwardPolicy: z.enum(['Sequential', 'RoundRobin', 'Random']),
    maxConcurrent: z.int().min(0).meta({ format: 'int32' }),
    cacheDuration: z.string().regex(/^([0-9]+(s|m|h))+$/),
    serveStaleDuration: z.string().regex(/^([0-9]+(s|m|h))+$/),
    serveStale: z.enum(['Verify', 'Immediate', 'Disable']),
  })
  .register(crdExtensions, {
    cel: [
      {
        rule: '!(self.serveStale == "Verify" && self.protocol == "ForceTCP")',
        message: 'serveStale Verify cannot be used with protocol ForceTCP',
      },
      {
        rule: '!(self.zone.endsWith("cluster.local") && self.forwardDestination == "VnetDNS")',
        message: 'zone cluster.local cannot be forwarded to VnetDNS',
      },
    ],
  })

const bothZones = {
  rule: "['.', 'cluster.local'].all(z, self.exists(x, x.zone == z))",
  message: "must contain the zones '.' and 'cluster.local'",
}
const zoneOverrides = (cel: readonly { rule: string; message: string }[]) =>
  z
    .array(zoneOverride)
    .max(100)
    .optional()
    .register(crdExtensions, { listType: 'map', listMapKeys: ['zone'], cel })

const localDns = z.object({
  mode: z.enum(['Preferred', 'Required', 'Disabled']),
  vnetDNSOverrides: zoneOverrides([
    bothZones,
    {
      rule: 'self.all(x, x.zone.endsWith("cluster.local") || x.forwardDestination != "ClusterCoreDNS")',
      message: 'only cluster.local zones can be forwarded to ClusterCoreDNS from VnetDNS overrides',
    },
  ]),
  kubeDNSOverrides: zoneOverrides([bothZones]),
})

const sysctls = z.object({
  fsAioMaxNr: ranged(65536, 6553500),
  fsFileMax: ranged(8192, 12000500),
  fsInotifyMaxUserWatches: ranged(781250, 2097152),
  fsNrOpen: ranged(8192, 20000500),
  kernelThreadsMax: ranged(20, 513785),
  netCoreNetdevMaxBacklog: ranged(1000, 3240000),
  netCoreOptmemMax: ranged(20480, 4194304),
  netCoreRmemDefault: ranged(212992, 134217728),
  netCoreRmemMax: ranged(212992, 134217728),
  netCoreSomaxconn: ranged(4096, 3240000),
  netCoreWmemDefault: ranged(212992, 134217728),
  netCoreWmemMax: ranged(212992, 134217728),
  netIPv4IPLocalPortRange: z
    .string()
    .regex(/^[0-9]+ [0-9]+$/)
    .optional(),
  netIPv4NeighDefaultGcThresh1: ranged(128, 80000),
  netIPv4NeighDefaultGcThresh2: ranged(512, 90000),
  netIPv4NeighDefaultGcThresh3: ranged(1024, 100000),
  netIPv4TCPFinTimeout: ranged(5, 120),
  netIPv4TCPKeepaliveIntvl: ranged(10, 90),
  netIPv4TCPKeepaliveProbes: ranged(1, 15),
  netIPv4TCPKeepaliveTime: ranged(30, 432000),
  netIPv4TCPMaxSynBacklog: ranged(128, 3240000),
  netIPv4TCPMaxTwBuckets: ranged(8000, 1440000),
  netIPv4TCPTwReuse: z.boolean().optional(),
  netNetfilterNfConntrackBuckets: ranged(65536, 524288),
  netNetfilterNfConntrackMax: ranged(131072, 2097152),
  vmMaxMapCount: ranged(65530, 262144),
  vmSwappiness: ranged(0, 100),
  vmVfsCachePressure: ranged(0, 100),
})

// Go's syntax for "without regard to case", which a JavaScript expression cannot hold: written into the CRD as it is.
const subnetPattern =
  '(?i)^/subscriptions/[^/]+/resourceGroups/[a-zA-Z0-9_\\-().]{0,89}[a-zA-Z0-9_\\-()]/providers/Microsoft\\.Network/virtualNetworks/[^/]+/subnets/[^/]+$'

export const nodeClassSpec = z
  .object({
    vnetSubnetID: z
      .string()
      .optional()
      .meta({ pattern: subnetPattern })
      .describe('ARM id of the subnet of the nodes; that of the cluster when unset.'),
    osDiskSizeGB: z.int().min(30).max(2048).default(128).meta({ format: 'int32' }).describe('Size of the OS disk.'),
    imageFamily: z
      .enum(['Ubuntu', 'Ubuntu2204', 'Ubuntu2404', 'AzureLinux'])
      .default('Ubuntu')
      .describe('Operating system of the nodes.'),
    fipsMode: z.enum(['FIPS', 'Disabled']).optional(),
    tags: z
      .record(z.string(), z.string().max(256))
      .optional()
      .describe('Tags of the Azure resources; a slash in a key becomes an underscore.')
      .register(crdExtensions, {
        cel: [
          { rule: 'self.all(k, size(k) <= 512)', message: 'tag keys must be at most 512 characters' },
          {
            rule: "self.all(k, !k.matches('[<>%&?\\\\\\\\]'))",
            message: "tag keys must not contain '<', '>', '%', '&', '?' or a backslash",
          },
        ],
      }),
    kubelet: kubelet.optional(),
    maxPods: z.int().min(10).max(250).optional().meta({ format: 'int32' }),
    security: z
      .object({
        encryptionAtHost: z.boolean().optional(),
        trustedLaunch: z.object({ vtpm: z.boolean().optional(), secureBoot: z.boolean().optional() }).optional(),
      })
      .optional(),
    localDNS: localDns.optional(),
    gpu: z.object({ mode: z.enum(['Driver', 'None']).default('Driver') }).optional(),
    artifactStreaming: z.object({ enabled: z.boolean().optional() }).optional(),
    linuxOSConfig: z
      .object({
        swapFileSize: sizeText.optional(),
        transparentHugePageDefrag: z.enum(['always', 'defer', 'defer+madvise', 'madvise', 'never']).optional(),
        transparentHugePageEnabled: z.enum(['always', 'madvise', 'never']).optional(),
        sysctls: sysctls.optional(),
      })
      .optional(),
  })
  .register(crdExtensions, {
    cel: [
      {
        rule: "has(self.fipsMode) && self.fipsMode == 'FIPS' ? (has(self.imageFamily) && self.imageFamily != 'Ubuntu2404') : true",
        message: 'FIPS is not available for Ubuntu2404',
      },
      {
        rule: 'has(self.linuxOSConfig) && has(self.linuxOSConfig.swapFileSize) ? (has(self.kubelet) && has(self.kubelet.failSwapOn) && self.kubelet.failSwapOn == false) : true',
        message: 'swapFileSize needs kubelet.failSwapOn to be false',
      },
    ],
  })

export const nodeClassStatus = z.object({
  images: z.array(z.object({ id: z.string(), requirements: requirementListOfImages() })).optional(),
  kubernetesVersion: z.string().optional(),
  localDNSState: z.enum(['Enabled', 'Disabled']).optional(),
  conditions: conditionList.optional(),
})

/** An image's requirements name keys that users may not set. */
function requirementListOfImages() {
  return z.array(z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).optional() }))
}
