import { describe, expect, it } from 'vitest'
import { parseNodeConfig } from '../../../api/node-config/parse.ts'
import type { NodeClassSpec } from '../../../api/objects.ts'
import { localDnsProfile } from './node-dns.ts'

const zone: NonNullable<NodeClassSpec['localDNS']>['kubeDNSOverrides'][number] = {
  zone: 'example.com',
  queryLogging: 'Log',
  protocol: 'ForceTCP',
  forwardDestination: 'VnetDNS',
  forwardPolicy: 'RoundRobin',
  maxConcurrent: 7,
  cacheDuration: '1h30m',
  serveStaleDuration: '90s',
  serveStale: 'Disable',
}

describe('the DNS proxy of a node', () => {
  it('has the zones of the node class, with times in seconds', () => {
    const profile = localDnsProfile({ vnetDNSOverrides: [zone], kubeDNSOverrides: [{ ...zone, zone: '.' }] })
    const expected = {
      query_logging: 'Log',
      protocol: 'ForceTCP',
      forward_destination: 'VnetDNS',
      forward_policy: 'RoundRobin',
      max_concurrent: 7,
      cache_duration_in_seconds: 5400,
      serve_stale_duration_in_seconds: 90,
      serve_stale: 'Disable',
    }
    expect(profile).toEqual({
      enable_local_dns: true,
      cpu_limit_in_milli_cores: 2000,
      memory_limit_in_mb: 128,
      vnet_dns_overrides: { 'example.com': expected },
      kube_dns_overrides: { '.': expected },
    })
    expect(parseNodeConfig({ local_dns_profile: profile }).problems).toEqual([])
  })

  it("has AKS' own zones where none are given: the cluster's names go to CoreDNS, of all others those of nodes to the VNET", () => {
    const { vnet_dns_overrides: vnet, kube_dns_overrides: kube } = localDnsProfile({
      vnetDNSOverrides: [],
      kubeDNSOverrides: [],
    })
    const destinations = (zones: typeof vnet) =>
      Object.entries(zones ?? {}).map(([name, { forward_destination: to, protocol }]) => [name, to, protocol])
    expect(destinations(vnet)).toEqual([
      ['.', 'VnetDNS', 'PreferUDP'],
      ['cluster.local', 'ClusterCoreDNS', 'ForceTCP'],
    ])
    expect(destinations(kube)).toEqual([
      ['.', 'ClusterCoreDNS', 'PreferUDP'],
      ['cluster.local', 'ClusterCoreDNS', 'ForceTCP'],
    ])
  })
})
