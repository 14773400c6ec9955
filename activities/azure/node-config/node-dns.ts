import type { NodeConfig } from '../../../api/node-config/schema.ts'
import type { NodeClassSpec } from '../../../api/objects.ts'
import { parseGoDuration } from '../../../core/values/duration.ts'

type LocalDns = NonNullable<NodeClassSpec['localDNS']>
type DnsZones = Pick<LocalDns, 'vnetDNSOverrides' | 'kubeDNSOverrides'>
type DnsZone = DnsZones['kubeDNSOverrides'][number]
type Profile = NonNullable<NodeConfig['local_dns_profile']>

const common = {
  queryLogging: 'Error',
  forwardPolicy: 'Sequential',
  maxConcurrent: 1000,
  cacheDuration: '1h',
  serveStaleDuration: '1h',
  serveStale: 'Immediate',
} as const
const ownZone: DnsZone = {
  ...common,
  zone: 'cluster.local',
  protocol: 'ForceTCP',
  forwardDestination: 'ClusterCoreDNS',
}
const everythingElse = { ...common, zone: '.', protocol: 'PreferUDP' } as const

/** AKS' defaults (https://learn.microsoft.com/azure/aks/localdns-custom): a node without zones could resolve nothing. */
const defaults: DnsZones = {
  vnetDNSOverrides: [{ ...everythingElse, forwardDestination: 'VnetDNS' }, ownZone],
  kubeDNSOverrides: [{ ...everythingElse, forwardDestination: 'ClusterCoreDNS' }, ownZone],
}

/** Returns the DNS proxy of the node, switched on. Where a list of zones is empty, they are AKS' own. */
export function localDnsProfile({
  vnetDNSOverrides: vnet = [],
  kubeDNSOverrides: kube = [],
}: Partial<DnsZones> = {}): Profile {
  return {
    enable_local_dns: true,
    cpu_limit_in_milli_cores: 2000,
    memory_limit_in_mb: 128,
    vnet_dns_overrides: overrides(vnet.length === 0 ? defaults.vnetDNSOverrides : vnet),
    kube_dns_overrides: overrides(kube.length === 0 ? defaults.kubeDNSOverrides : kube),
  }
}

function overrides(zones: readonly DnsZone[]): NonNullable<Profile['vnet_dns_overrides']> {
  return Object.fromEntries(
    zones.map((zone) => [
      zone.zone,
      {
        query_logging: zone.queryLogging,
        protocol: zone.protocol,
        forward_destination: zone.forwardDestination,
        forward_policy: zone.forwardPolicy,
        max_concurrent: zone.maxConcurrent,
        cache_duration_in_seconds: seconds(zone.cacheDuration),
        serve_stale_duration_in_seconds: seconds(zone.serveStaleDuration),
        serve_stale: zone.serveStale,
      },
    ]),
  )
}

/** Returns the whole seconds of a duration, whose text the CRD's schema has checked. */
export const seconds = (duration: string) => Number((parseGoDuration(duration) ?? 0n) / 1_000_000_000n)
