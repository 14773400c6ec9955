import type { Random } from './random.ts'
import {
  archKey,
  capacityTypeKey,
  type InstanceTypeJson,
  isOneOf,
  nodePoolJson,
  type ObjectJson,
  zoneKey,
} from './scenario.ts'

export const nodeClassRef = { group: 'karpenter.test.sh', kind: 'TestNodeClass', name: 'default' }
export const zones = ['z1', 'z2', 'z3'] as const
export const batchTaint = { key: 'dedicated', value: 'batch', effect: 'NoSchedule' }

/** Types of which none costs what another does, some offerings of which are not to be had. */
export function parityTypes(random: Random): readonly InstanceTypeJson[] {
  const all = [1, 2, 3, 4, 6, 8, 12, 16].flatMap((cpu) => [2, 4, 8].map((ratio) => [cpu, ratio] as const))
  const some = all.filter(() => random.chance(random.chance(0.5) ? 0.9 : 0.5))
  return (some.length < 3 ? all : some).map(([cpu, ratio]) => {
    const name = `t.${cpu}x${ratio}`
    const arch = random.chance(0.85) ? 'amd64' : 'arm64'
    const price = cpu * (0.03 + 0.004 * ratio) * (0.9 + random.below(2000) / 10_000)
    const spot = 0.2 + random.below(4000) / 10_000
    return {
      name,
      requirements: [
        isOneOf('node.kubernetes.io/instance-type', name),
        isOneOf(archKey, arch),
        isOneOf('kubernetes.io/os', 'linux'),
        isOneOf(zoneKey, ...zones),
        isOneOf(capacityTypeKey, 'on-demand', 'spot'),
      ],
      offerings: zones.flatMap((zone, index) =>
        [1, spot].map((share, at) => ({
          requirements: [isOneOf(zoneKey, zone), isOneOf(capacityTypeKey, at === 0 ? 'on-demand' : 'spot')],
          price: Number((price * share * (1 + 0.01 * index)).toFixed(6)),
          available: random.chance(0.93),
        })),
      ),
      capacity: { cpu: String(cpu), memory: `${cpu * ratio}Gi`, pods: '110' },
      overhead: { kubeReserved: { cpu: '100m', memory: '200Mi' }, evictionThreshold: { memory: '100Mi' } },
    }
  })
}

export interface ParityPool {
  readonly name: string
  readonly capacityTypes: readonly string[]
  readonly isTainted: boolean
  readonly hash: string
  readonly object: ObjectJson
}

/** One NodePool to three, with policies, budgets and requirements of their own. */
export function parityPools(random: Random, method: string): readonly ParityPool[] {
  return Array.from({ length: random.between(1, 3) }, (_, index) => {
    const name = `pool-${index}`
    const capacityTypes = random.pick([['on-demand'], ['spot'], ['on-demand', 'spot']])
    const isTainted = index > 0 && random.chance(0.2)
    const hash = random.chance(0.85) ? '100' : '200'
    const made = nodePoolJson({
      name,
      nodeClassRef,
      ...(random.chance(0.5) ? { weight: 10 * (index + 1) } : {}),
      labels: { team: `team-${index}` },
      requirements: [
        isOneOf(capacityTypeKey, ...capacityTypes),
        ...(random.chance(0.5) ? [isOneOf(archKey, 'amd64')] : []),
        ...(random.chance(0.15) ? [isOneOf(zoneKey, 'z1', 'z2')] : []),
      ],
      ...(isTainted ? { taints: [batchTaint] } : {}),
      ...(random.chance(0.15) ? { limits: { cpu: String(random.between(8, 60)) } } : {}),
      disruption: disruptionOf(random, method),
    })
    const isReady = random.chance(0.95)
    const object = { ...made, metadata: { ...made.metadata, ...hashed(hash), uid: name }, ...poolStatus(isReady) }
    return { name, capacityTypes, isTainted, hash, object }
  })
}

export const hashed = (hash: string) => ({
  annotations: { 'karpenter.sh/nodepool-hash': hash, 'karpenter.sh/nodepool-hash-version': 'v3' },
})

function poolStatus(isReady: boolean) {
  const status = isReady ? 'True' : 'False'
  return {
    status: {
      conditions: ['ValidationSucceeded', 'NodeClassReady', 'Ready'].map((type) => ({
        type,
        status: type === 'ValidationSucceeded' ? 'True' : status,
        reason: type,
        message: '',
        lastTransitionTime: '2025-12-01T00:00:00Z',
      })),
    },
  }
}

function disruptionOf(random: Random, method: string): Readonly<Record<string, unknown>> {
  const usual = ['WhenEmptyOrUnderutilized', 'WhenEmptyOrUnderutilized', 'WhenEmptyOrUnderutilized', 'Balanced']
  const budgets = random.pick([
    [{ nodes: '100%' }],
    [{ nodes: '100%' }],
    [{ nodes: '100%' }],
    [{ nodes: '50%' }],
    [{ nodes: '1' }],
    [{ nodes: '3' }],
    [{ nodes: '100%' }, { nodes: '0', reasons: ['Underutilized'] }],
    [{ nodes: '100%' }, { nodes: '0', schedule: '0 12 * * *', duration: '1h' }],
    [{ nodes: '2', schedule: '@daily', duration: '24h' }],
  ])
  return {
    consolidationPolicy: random.pick(method === 'emptiness' ? [...usual, 'WhenEmpty'] : usual),
    consolidateAfter: random.pick(['0s', '0s', '0s', '0s', '30s', '2h', 'Never']),
    budgets,
  }
}
