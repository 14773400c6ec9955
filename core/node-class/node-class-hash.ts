import { parseGoDuration } from '../values/duration.ts'
import { bool, int32, int64, list, struct, text } from '../values/struct-hash.ts'
import { capitalized } from '../values/texts.ts'

/** Version of the hash. It changes with the hashed fields; claims are then stamped again instead of drifting. */
export const nodeClassHashVersion = 'v3'

/**
 * Returns the drift hash of an AKSNodeClass: its spec without the tags, which are changed in place (reference/azure-provider.md 1.4). Unset fields
 * are left out, so an empty object counts when it is there. The value equals Karpenter's, so that a migration drifts no node.
 */
export function nodeClassHash(spec: Readonly<Record<string, unknown>>): string {
  return String(nodeClassSpec(spec))
}

/** Hashes a value; undefined for Go's zero value, which counts as unset. */
type Hash = (value: never) => bigint | undefined

/** A field: its name in manifests, how it is hashed, and its name in Go where that is not the same with a capital. */
type Field = readonly [name: string, hash: Hash, goName?: string]

/** Returns a hash of an object by its Go type's name and its fields in Go's order. */
function object(type: string, fields: readonly Field[]): (value: Readonly<Record<string, unknown>>) => bigint {
  return (value) =>
    struct(
      type,
      fields.map(([name, hash, goName = capitalized(name)]) => {
        const field = value[name]
        return [goName, field === undefined || field === null ? undefined : hash(field as never)]
      }),
    )
}

const all =
  (hash: (value: never) => bigint): Hash =>
  (values: readonly never[]) =>
    list(values.map(hash))

const podPidsLimit: Hash = (value: number) => int64(BigInt(value))

const period: Hash = (value: string) => {
  const nanoseconds = parseGoDuration(value) ?? 0n
  return nanoseconds === 0n ? undefined : struct('Duration', [['Duration', int64(nanoseconds)]])
}

const zoneDuration: Hash = (value: string) =>
  struct('NillableDuration', [['Duration', int64(parseGoDuration(value) ?? 0n)]])

const kubelet = object('KubeletConfiguration', [
  ['cpuManagerPolicy', text, 'CPUManagerPolicy'],
  ['cpuCFSQuota', bool, 'CPUCFSQuota'],
  ['cpuCFSQuotaPeriod', period, 'CPUCFSQuotaPeriod'],
  ['imageGCHighThresholdPercent', int32],
  ['imageGCLowThresholdPercent', int32],
  ['topologyManagerPolicy', text],
  ['allowedUnsafeSysctls', all(text)],
  ['containerLogMaxSize', text],
  ['containerLogMaxFiles', int32],
  ['podPidsLimit', podPidsLimit],
  ['failSwapOn', bool],
])

const zoneOverride = object('LocalDNSZoneOverride', [
  ['zone', text],
  ['queryLogging', text],
  ['protocol', text],
  ['forwardDestination', text],
  ['forwardPolicy', text],
  ['maxConcurrent', int32],
  ['cacheDuration', zoneDuration],
  ['serveStaleDuration', zoneDuration],
  ['serveStale', text],
])

const localDns = object('LocalDNS', [
  ['mode', text],
  ['vnetDNSOverrides', all(zoneOverride)],
  ['kubeDNSOverrides', all(zoneOverride)],
])

const security = object('Security', [
  ['encryptionAtHost', bool],
  [
    'trustedLaunch',
    object('TrustedLaunch', [
      ['vtpm', bool, 'VTPM'],
      ['secureBoot', bool],
    ]),
  ],
])

const sysctls = object('SysctlConfiguration', [
  ['fsAioMaxNr', int32],
  ['fsFileMax', int32],
  ['fsInotifyMaxUserWatches', int32],
  ['fsNrOpen', int32],
  ['kernelThreadsMax', int32],
  ['netCoreNetdevMaxBacklog', int32],
  ['netCoreOptmemMax', int32],
  ['netCoreRmemDefault', int32],
  ['netCoreRmemMax', int32],
  ['netCoreSomaxconn', int32],
  ['netCoreWmemDefault', int32],
  ['netCoreWmemMax', int32],
  ['netIPv4IPLocalPortRange', text],
  ['netIPv4NeighDefaultGcThresh1', int32],
  ['netIPv4NeighDefaultGcThresh2', int32],
  ['netIPv4NeighDefaultGcThresh3', int32],
  ['netIPv4TCPFinTimeout', int32],
  ['netIPv4TCPKeepaliveProbes', int32],
  ['netIPv4TCPKeepaliveTime', int32],
  ['netIPv4TCPMaxSynBacklog', int32],
  ['netIPv4TCPMaxTwBuckets', int32],
  ['netIPv4TCPTwReuse', bool],
  ['netIPv4TCPKeepaliveIntvl', int32],
  ['netNetfilterNfConntrackBuckets', int32],
  ['netNetfilterNfConntrackMax', int32],
  ['vmMaxMapCount', int32, 'VMMaxMapCount'],
  ['vmSwappiness', int32, 'VMSwappiness'],
  ['vmVfsCachePressure', int32, 'VMVfsCachePressure'],
])

const linuxOsConfig = object('LinuxOSConfiguration', [
  ['swapFileSize', text],
  ['sysctls', sysctls],
  ['transparentHugePageDefrag', text],
  ['transparentHugePageEnabled', text],
])

const nodeClassSpec = object('AKSNodeClassSpec', [
  ['vnetSubnetID', text, 'VNETSubnetID'],
  ['osDiskType', text, 'OSDiskType'],
  ['osDiskSizeGB', int32, 'OSDiskSizeGB'],
  ['imageFamily', text],
  ['fipsMode', text, 'FIPSMode'],
  ['kubelet', kubelet],
  ['maxPods', int32],
  ['security', security],
  ['localDNS', localDns],
  ['gpu', object('GPU', [['mode', text]]), 'GPU'],
  ['artifactStreaming', object('ArtifactStreaming', [['enabled', bool]])],
  ['linuxOSConfig', linuxOsConfig],
])
