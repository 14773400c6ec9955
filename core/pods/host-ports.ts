import type { ContainerPort } from '../objects.ts'
import { canonicalIp } from '../values/ip.ts'

const unspecified: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

interface HostPort {
  readonly ip: string
  readonly port: number
  readonly protocol: string
}

/** Returns the host ports among the ports of a pod's containers. A port without an address is for every address (reference/karpenter-core.md 3.9). */
export function hostPorts(ports: readonly ContainerPort[]): readonly HostPort[] {
  return ports
    .filter(({ hostPort }) => (hostPort ?? 0) !== 0)
    .map(({ hostIP, hostPort, protocol }) => ({
      ip: canonicalIp(hostIP || '0.0.0.0') ?? '<nil>',
      port: hostPort as number,
      protocol: protocol ?? '',
    }))
}

function clashes(a: HostPort, b: HostPort): boolean {
  if (a.protocol !== b.protocol || a.port !== b.port) return false
  return a.ip === b.ip || unspecified.has(a.ip) || unspecified.has(b.ip)
}

/** Returns why ports conflict with those in use on a node; undefined when they do not (reference/karpenter-core.md 3.9). */
export function hostPortConflict(used: readonly ContainerPort[], added: readonly ContainerPort[]): string | undefined {
  if (used.length === 0 || added.length === 0) return undefined
  const existing = hostPorts(used)
  for (const wanted of hostPorts(added)) {
    const other = existing.find((port) => clashes(port, wanted))
    if (other === undefined) continue
    return (
      `pod hostport conflicts with existing hostport configuration (existing-hostport-ip=${other.ip}, ` +
      `existing-hostport-port=${other.port}, existing-hostport-protocol=${other.protocol}, pod-hostport-ip=${wanted.ip}, ` +
      `pod-hostport-port=${wanted.port}, pod-hostport-protocol=${wanted.protocol})`
    )
  }
  return undefined
}
