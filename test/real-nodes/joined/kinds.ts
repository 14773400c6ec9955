// Nodes of other kinds than the plain one: spot, with startup taints, with all settings of the kubelet, of another architecture.
import type { NodeClassSpec } from '../../../api/objects.ts'
import type { Operator } from '../../../deploy/local/operator.ts'
import type { Fleet, Node } from '../../../deploy/local/real-nodes/fleet.ts'
import { until } from '../../../deploy/local/real-nodes/until.ts'
import { otherFlags } from './flags.ts'
import { isTrue, type Looks } from './looks.ts'
import type { Pool } from './objects.ts'

interface Parts {
  readonly operator: Operator
  readonly fleet: Fleet
  readonly looks: Looks
}

/** Each field of AKSNodeClass that is about the kubelet, with another value than the kubelet's own. */
export const kubeletSettings = {
  cpuManagerPolicy: 'static',
  cpuCFSQuota: false,
  cpuCFSQuotaPeriod: '50ms',
  imageGCHighThresholdPercent: 95,
  imageGCLowThresholdPercent: 70,
  topologyManagerPolicy: 'best-effort',
  allowedUnsafeSysctls: ['kernel.msg*', 'net.ipv4.tcp_keepalive_time'],
  containerLogMaxSize: '20Mi',
  containerLogMaxFiles: 7,
  podPidsLimit: 1024,
  failSwapOn: false,
} as const satisfies Required<NonNullable<NodeClassSpec['kubelet']>>
export const maxPods = 42

const agent = { key: 'example.com/agent-not-ready', effect: 'NoSchedule' } as const
const dedicated = { key: 'example.com/dedicated', value: 'startup', effect: 'NoExecute' } as const

export const otherPools: readonly Pool[] = [
  { name: 'spot', capacityType: 'spot' },
  { name: 'settings', nodeClass: 'settings' },
  {
    name: 'startup',
    template: { taints: [dedicated], startupTaints: [agent] },
    tolerations: [{ key: dedicated.key, operator: 'Exists' }],
  },
  { name: 'arm', arch: 'arm64' },
]

/** What the kubelet says of itself agrees with each field of its AKSNodeClass. Returns its Node. Errors: the fields that do not. */
export async function proveSettings(parts: Parts): Promise<string> {
  const node = await parts.looks.untilClaimIs('Initialized', 'settings')
  const configuration = await proveFlags(parts, node)
  const wrong = Object.entries({ ...kubeletSettings, maxPods })
    .filter(([field, value]) => JSON.stringify(configuration[field]) !== JSON.stringify(value))
    .map(([field, value]) => `${field} is ${JSON.stringify(configuration[field])}, not ${JSON.stringify(value)}`)
  if (wrong.length > 0) throw new Error(`${node}: ${wrong.join('; ')}`)
  await parts.looks.untilReady(1, node)
  return node
}

/** What the kubelet says of itself agrees with each flag of its VM's PUT. Returns its configuration. Errors: the flags that do not. */
export async function proveFlags(
  { operator, fleet }: Pick<Parts, 'operator' | 'fleet'>,
  node: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { kubeletconfig } = await operator.api<{ readonly kubeletconfig: Readonly<Record<string, unknown>> }>(
    'GET',
    `/api/v1/nodes/${node}/proxy/configz`,
  )
  const flags = fleet.machines.get(node)?.provisioned.environment['KUBELET_FLAGS'] ?? ''
  const wrong = otherFlags(flags, kubeletconfig)
  if (wrong.length > 0) throw new Error(`${node}: ${wrong.join('; ')}`)
  return kubeletconfig
}

/** A node with a startup taint is initialized, and runs pods, once somebody has taken the taint away. Returns its Node. */
export async function proveStartup({ operator, fleet, looks }: Parts): Promise<string> {
  const node = await looks.untilClaimIs('Registered', 'startup')
  const given = fleet.registered.get(node)?.spec.taints?.map(({ key, effect }) => `${key}:${effect}`) ?? []
  const wanted = [agent, dedicated].map(({ key, effect }) => `${key}:${effect}`)
  const missing = wanted.filter((taint) => !given.includes(taint))
  if (missing.length > 0) throw new Error(`${node} was registered without ${missing.join(', ')}: ${given.join(', ')}`)
  await until(`${node} is Ready`, 60_000, async () => {
    const { status } = await operator.api<Node>('GET', `/api/v1/nodes/${node}`)
    return isTrue(status.conditions, 'Ready')
  })
  if (isTrue((await looks.claim('startup'))?.status?.conditions, 'Initialized'))
    throw new Error(`${node} is initialized with its startup taint`)
  await operator.kubectl(['taint', 'node', node, `${agent.key}-`])
  await looks.untilClaimIs('Initialized', 'startup')
  await looks.untilReady(1, node)
  return node
}

/** The pod of a spot node that Azure takes back runs on another one. Returns the first Node. */
export async function proveSpot({ operator, fleet, looks }: Parts): Promise<string> {
  const node = await looks.untilClaimIs('Initialized', 'spot')
  await looks.untilReady(1, node)
  const { metadata } = await operator.api<Node>('GET', `/api/v1/nodes/${node}`)
  const priority = metadata.labels['kubernetes.azure.com/scalesetpriority']
  if (priority !== 'spot') throw new Error(`${node}: label kubernetes.azure.com/scalesetpriority is ${priority}`)
  await operator.simulator('POST', `/vms/${node}/evict`)
  await until(`${node} is gone`, 120_000, async () => !fleet.machines.has(node))
  let next = node
  await until('another spot node is initialized', 120_000, async () => {
    next = await looks.untilClaimIs('Initialized', 'spot')
    return next !== node
  })
  await looks.untilReady(1, next)
  return node
}

/** A node of another architecture is not booted here, and the reason is told. Returns that. */
export async function proveOtherArchitecture({ operator, fleet }: Parts): Promise<string> {
  const reason = () => [...fleet.refusals].find(([name]) => name.startsWith('aks-arm-'))?.join(': ')
  await until('a VM of another architecture is refused', 60_000, async () => reason() !== undefined)
  await operator.kubectl(['delete', 'deployment', 'on-arm'])
  await operator.kubectl(['delete', 'nodepool', 'arm'])
  return reason() ?? ''
}
