import { expect, it } from 'vitest'
import { cloudInitDocument } from '../../../../activities/azure/node-config/custom-data.ts'
import { violationsOf } from './violations.ts'

const of = (config: object) => violationsOf(cloudInitDocument(config as Readonly<Record<string, unknown>>))
const kubelet = (labels: object, flags: object = {}) => ({
  kubelet_config: { kubelet_node_labels: labels, kubelet_flags: flags },
})

it('a node configuration within the grammar has no violations', () => {
  const flags = {
    '--eviction-hard': 'memory.available<750Mi,nodefs.available<10%',
    '--register-with-taints': 'a.b/c=d:NoSchedule,e:NoExecute',
    '--allowed-unsafe-sysctls': 'net.core.*',
    '--kube-reserved': '',
  }
  expect(
    of({
      ...kubelet({ 'a.b/c': 'D_1', d: '' }, flags),
      outbound_command: 'curl -v --insecure --proxy-insecure https://mcr.microsoft.com/v2/',
      custom_linux_os_config: { sysctl_config: { net_ipv4_ip_local_port_range: '1024 65535', vm_swappiness: 1 } },
      cluster_config: { resource_group: 'MC_a(b)_ö' },
    }),
  ).toEqual([])
})

it.each<[object, string]>([
  [kubelet({ a: 'x\nKUBELET_FLAGS=--v=9' }), 'kubelet_config.kubelet_node_labels.a'],
  [kubelet({ a: 'x y' }), 'kubelet_config.kubelet_node_labels.a'],
  [kubelet({ a: 'x'.repeat(64) }), 'kubelet_config.kubelet_node_labels.a'],
  [kubelet({ 'a=b,c': 'x' }), 'kubelet_config.kubelet_node_labels.a=b,c'],
  [kubelet({}, { '--v': '9 --static-pod-url=http://x' }), 'kubelet_config.kubelet_flags.--v'],
  [kubelet({}, { '--v=9 --x': 'y' }), 'kubelet_config.kubelet_flags.--v=9 --x'],
  [kubelet({}, { '--max-pods': 'a<b' }), 'kubelet_config.kubelet_flags.--max-pods'],
  [{ linux_admin_username: 'a$(reboot)' }, 'linux_admin_username'],
  [{ outbound_command: 'curl https://x; reboot' }, 'outbound_command'],
  [{ http_proxy_config: { no_proxy_entries: ['a', 'b"c'] } }, 'http_proxy_config.no_proxy_entries[1]'],
  [{ local_dns_profile: { vnet_dns_overrides: { 'a b': {} } } }, 'local_dns_profile.vnet_dns_overrides.a b'],
])('%j breaks it at %s', (config, path) => {
  expect(of(config)).toEqual([path])
})

it('custom data of others is none of its business', () => {
  expect([violationsOf(''), violationsOf('aGVsbG8='), violationsOf('not base64')]).toEqual([[], [], []])
})
