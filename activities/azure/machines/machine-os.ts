import type { NodeClassSpec } from '../../../api/objects.ts'
import { defined } from '../../../core/values/defined.ts'
import { parseGoDuration } from '../../../core/values/duration.ts'
import { quantity } from '../../../core/values/quantity.ts'
import { resolveImageFamily } from '../node-class/images.ts'
import type { KubeletSettings, NodeClassSettings } from '../node-class/node-class-settings.ts'
import { seconds } from '../node-config/node-dns.ts'

type Fields = Readonly<Record<string, unknown>>
type LocalDns = NonNullable<NodeClassSpec['localDNS']>
type DnsZone = LocalDns['kubeDNSOverrides'][number]

const mebibyte = 1_048_576n * 1_000_000_000n
const most32 = 2_147_483_647

/** Returns AKS' name of the operating system: its images with FIPS have the plain family's (reference/azure-provider.md 4.7). */
export function osSku(nodeClass: NodeClassSettings, kubernetesVersion: string): string {
  if (nodeClass.imageFamily === 'AzureLinux') return 'AzureLinux'
  return nodeClass.fips && nodeClass.imageFamily === 'Ubuntu'
    ? 'Ubuntu'
    : resolveImageFamily(nodeClass, kubernetesVersion)
}

/** Returns the kubelet's settings of a machine. Sizes are in MiB; a duration of zero means the kubelet's own. */
export function machineKubelet(kubelet: KubeletSettings): Fields {
  const { cpuCFSQuotaPeriod: period, containerLogMaxSize, podPidsLimit } = kubelet
  return defined({
    cpuManagerPolicy: kubelet.cpuManagerPolicy,
    cpuCfsQuota: kubelet.cpuCFSQuota,
    cpuCfsQuotaPeriod: period === undefined || parseGoDuration(period) === 0n ? undefined : period,
    imageGcHighThreshold: kubelet.imageGCHighThresholdPercent,
    imageGcLowThreshold: kubelet.imageGCLowThresholdPercent,
    topologyManagerPolicy: kubelet.topologyManagerPolicy,
    allowedUnsafeSysctls: kubelet.allowedUnsafeSysctls,
    failSwapOn: kubelet.failSwapOn,
    containerLogMaxSizeMB: containerLogMaxSize === undefined ? undefined : inMebibytes(containerLogMaxSize),
    containerLogMaxFiles: kubelet.containerLogMaxFiles,
    podMaxPids: podPidsLimit === undefined ? undefined : Math.min(podPidsLimit, most32),
  })
}

/** Returns kernel settings, swap and huge pages of a machine; undefined when the node image decides all of them. */
export function machineLinux(os: NodeClassSpec['linuxOSConfig']): Fields | undefined {
  if (os === undefined || Object.keys(os).length === 0) return undefined
  const { swapFileSize, transparentHugePageEnabled, transparentHugePageDefrag, sysctls } = os
  return defined({
    swapFileSizeMB: swapFileSize === undefined ? undefined : inMebibytes(swapFileSize),
    transparentHugePageEnabled,
    transparentHugePageDefrag,
    sysctls:
      sysctls === undefined
        ? undefined
        : Object.fromEntries(Object.entries(sysctls).map(([name, value]) => [sysctlName(name), value])),
  })
}

/** AKS writes one of the names in its own way. */
function sysctlName(name: string): string {
  if (name === 'netIPv4TCPKeepaliveIntvl') return 'netIpv4TcpkeepaliveIntvl'
  return name.replace('IPv4IP', 'Ipv4Ip').replace('IPv4', 'Ipv4').replace('TCP', 'Tcp')
}

/** Returns the DNS proxy of a machine; undefined where the class does not mention it. What AKS decides for a class (`Preferred`) has been decided. */
export function machineDns({ spec, localDnsEnabled }: NodeClassSettings): Fields | undefined {
  if (spec.localDNS === undefined) return undefined
  const { vnetDNSOverrides, kubeDNSOverrides } = spec.localDNS
  return defined({
    mode: localDnsEnabled ? 'Required' : 'Disabled',
    vnetDNSOverrides: overrides(vnetDNSOverrides),
    kubeDNSOverrides: overrides(kubeDNSOverrides),
  })
}

function overrides(zones: readonly DnsZone[] | undefined): Fields | undefined {
  if (zones === undefined || zones.length === 0) return undefined
  return Object.fromEntries(
    zones.map(({ zone, cacheDuration, serveStaleDuration, ...rest }) => [
      zone,
      {
        ...rest,
        cacheDurationInSeconds: seconds(cacheDuration),
        serveStaleDurationInSeconds: seconds(serveStaleDuration),
      },
    ]),
  )
}

const inMebibytes = (size: string) => Number(quantity(size).nano / mebibyte)
