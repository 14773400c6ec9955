import { sysctls } from './kubelet-file-schema.ts'
import type { NodeConfig } from './node-config.ts'

/** What the node image sets of itself; the first three cannot be changed. */
const defaults: Readonly<Record<string, number>> = {
  'net.ipv4.tcp_retries2': 8,
  'net.core.message_burst': 80,
  'net.core.message_cost': 40,
  'net.core.somaxconn': 16_384,
  'net.ipv4.tcp_max_syn_backlog': 16_384,
  'net.ipv4.neigh.default.gc_thresh1': 4096,
  'net.ipv4.neigh.default.gc_thresh2': 8192,
  'net.ipv4.neigh.default.gc_thresh3': 16_384,
}

/** Kernel names that hold more than the dots of their field, or differ from it. */
const irregular: Readonly<Record<string, string>> = {
  net_ipv4_tcpkeepalive_intvl: 'net.ipv4.tcp_keepalive_intvl',
  fs_file_max: 'fs.file-max',
  fs_aio_max_nr: 'fs.aio-max-nr',
  fs_inotify_max_user_watches: 'fs.inotify.max_user_watches',
  kernel_threads_max: 'kernel.threads-max',
}

const groups = ['net_core_', 'net_ipv4_neigh_default_', 'net_ipv4_', 'net_netfilter_', 'fs_', 'kernel_', 'vm_']

/** Port of the node's own services; it is kept free where the range for outgoing connections reaches it. */
const reservedPort = 65_330

/** The lines of the node's sysctl file, sorted by name. */
export function sysctlLines(config: NodeConfig): readonly string[] {
  const path = 'custom_linux_os_config.sysctl_config'
  const given = config.message(path) ?? {}
  const values: Record<string, unknown> = { ...defaults }
  for (const field of Object.keys(sysctls)) {
    const value = given[field]
    if (value === undefined || value === '') continue
    values[kernelName(field)] = typeof value === 'boolean' ? Number(value) : value
  }
  if (portRangeEnd(config.text(`${path}.net_ipv4_ip_local_port_range`)) > reservedPort)
    values['net.ipv4.ip_local_reserved_ports'] = reservedPort
  return Object.keys(values)
    .sort()
    .map((name) => `${name}=${String(values[name])}`)
}

function kernelName(field: string): string {
  const group = groups.find((prefix) => field.startsWith(prefix)) ?? ''
  return irregular[field] ?? `${group.replaceAll('_', '.')}${field.slice(group.length)}`
}

function portRangeEnd(range: string): number {
  const [, start = '', end = ''] = /^(\d+) (\d+)$/.exec(range) ?? []
  return Number(start) > 0 && Number(start) < Number(end) ? Number(end) : -1
}
