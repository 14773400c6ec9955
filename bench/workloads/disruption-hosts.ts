import { azureTypes, azureZones } from './azure-types.ts'
import type { Random } from './random.ts'
import {
  archKey,
  capacityTypeKey,
  daemonSetJson,
  type InstanceTypeJson,
  isOneOf,
  nodeJson,
  nodePoolJson,
  type ObjectJson,
  zoneKey,
} from './scenario.ts'

/** The one kind of node class that the format of disruption scenarios knows. */
const nodeClassRef = { group: 'karpenter.test.sh', kind: 'TestNodeClass', name: 'default' }
export const created = '2025-12-20T00:00:00Z'

interface Pool {
  readonly name: string
  /** The share of the nodes that are its own. */
  readonly share: number
  readonly capacityType: string
  readonly taint?: { readonly key: string; readonly value: string; readonly effect: string }
  /** What a pod needs in its spec to run there. */
  readonly podSpec: Readonly<Record<string, unknown>>
}

const spotTaint = { key: 'kubernetes.azure.com/scalesetpriority', value: 'spot', effect: 'NoSchedule' }
const batchTaint = { key: 'dedicated', value: 'batch', effect: 'NoSchedule' }

/** Pods of one pool do not fit another, as where spot nodes are tainted and services ask for them. */
export const pools: readonly Pool[] = [
  { name: 'general', share: 0.62, capacityType: 'on-demand', podSpec: {} },
  {
    name: 'spot',
    share: 0.28,
    capacityType: 'spot',
    taint: spotTaint,
    podSpec: { tolerations: [{ ...spotTaint, operator: 'Equal' }], nodeSelector: { [capacityTypeKey]: 'spot' } },
  },
  {
    name: 'batch',
    share: 0.1,
    capacityType: 'on-demand',
    taint: batchTaint,
    podSpec: { tolerations: [{ ...batchTaint, operator: 'Equal' }], nodeSelector: { workload: 'batch' } },
  },
]

const batchLabels = { workload: 'batch' }

export interface PoolRules {
  readonly policy: string
  readonly budget: string
}

export function poolObjects({ policy, budget }: PoolRules): readonly ObjectJson[] {
  return pools.map(({ name, capacityType, taint }) => ({
    ...nodePoolJson({
      name,
      nodeClassRef,
      requirements: [isOneOf(archKey, 'amd64'), isOneOf(capacityTypeKey, capacityType)],
      ...(name === 'batch' ? { labels: batchLabels } : {}),
      ...(taint === undefined ? {} : { taints: [taint] }),
      disruption: { consolidateAfter: '0s', consolidationPolicy: policy, budgets: [{ nodes: budget }] },
    }),
    status: {
      conditions: ['ValidationSucceeded', 'NodeClassReady', 'Ready'].map((type) => ({
        type,
        status: 'True',
        reason: type,
        lastTransitionTime: created,
      })),
    },
  }))
}

const tolerations = [{ operator: 'Exists' }]

/** DaemonSets with a pod on every node. */
export const daemons = [
  { name: 'logs', requests: { cpu: '100m', memory: '200Mi' } },
  { name: 'network', requests: { cpu: '50m', memory: '128Mi' } },
] as const

export const daemonSets = (): readonly ObjectJson[] =>
  daemons.map(({ name, requests }) => daemonSetJson(name, requests, { tolerations }))

export const daemonSpec = { tolerations }

/** A node of the workload and what is left of it. CPU in millicores, memory in MiB. */
export interface Host {
  readonly name: string
  readonly pool: Pool
  readonly zone: string
  readonly type: InstanceTypeJson
  readonly cpu: number
  readonly memory: number
  freeCpu: number
  freeMemory: number
  /** How much of its CPU is to be used. */
  readonly target: number
  /** How many pods of each service it runs. */
  readonly services: Map<string, number>
}

/**
 * Types as a NodePool offers them that leaves out burstable sizes and GPUs, with the well-known labels alone: each size in two
 * generations, three zones, on demand and as spot.
 */
export function offeredTypes(): readonly InstanceTypeJson[] {
  return azureTypes(240)
    .filter(({ name, capacity }) => !name.startsWith('Standard_B') && capacity['nvidia.com/gpu'] === undefined)
    .map((type) => ({
      ...type,
      requirements: type.requirements.filter(({ key }) => !key.startsWith('karpenter.azure.com/')),
    }))
}

const vCpusOfHosts = [4, 4, 4, 8, 8, 8, 8, 16, 16, 16, 16]

interface HostOptions {
  readonly count: number
  readonly types: readonly InstanceTypeJson[]
  /** How much of its CPU is to be used, at least and at most. */
  readonly target: readonly [number, number]
  /** Some nodes have 32 cores, and some of the batch pool twice the memory. */
  readonly large?: boolean
}

/** Nodes of the cheapest general-purpose type of each size. */
export function newHosts(random: Random, { count, types, target, large = false }: HostOptions): readonly Host[] {
  const ofPools = pools.flatMap((pool) => Array.from({ length: Math.round(pool.share * count) }, () => pool))
  return Array.from({ length: count }, (_, index): Host => {
    const pool = ofPools[index] ?? ofPools[0]
    if (pool === undefined) throw new Error('a cluster of no nodes')
    const family = large && pool.name === 'batch' && random.chance(0.3) ? 'E' : 'D'
    const vCpus = large && random.chance(0.1) ? 32 : random.pick(vCpusOfHosts)
    const type = types.find(({ name }) => name === `Standard_${family}${vCpus}as_v50`)
    if (type === undefined) throw new Error(`the simulator has no ${family}${vCpus}as_v5`)
    const { cpu, memory } = allocatable(type)
    return {
      name: `${pool.name}-${String(index).padStart(4, '0')}`,
      pool,
      zone: random.pick(azureZones),
      type,
      cpu,
      memory,
      freeCpu: cpu - 150,
      freeMemory: memory - 328,
      target: target[0] + (target[1] - target[0]) * (random.below(1000) / 1000),
      services: new Map(),
    }
  })
}

/** Millicores and MiB. */
function allocatable({ capacity, overhead }: InstanceTypeJson): { readonly cpu: number; readonly memory: number } {
  const reserved = overhead.kubeReserved
  return {
    cpu: Number(capacity['cpu']) * 1000 - Number.parseInt(reserved['cpu'] ?? '0', 10),
    memory: mebibytes(capacity['memory']) - mebibytes(reserved['memory']) - 100,
  }
}

function mebibytes(text: string | undefined): number {
  if (text?.endsWith('Mi') !== true) throw new Error(`${text}: an amount of memory in Mi is expected`)
  return Number.parseInt(text, 10)
}

/** The Node and the NodeClaim of a host. */
export function hostObjects({ name, pool, type, zone, cpu, memory }: Host): readonly ObjectJson[] {
  const own = pool.name === 'batch' ? { labels: batchLabels } : {}
  return nodeJson({
    name,
    nodePool: pool.name,
    type: { ...type, requirements: type.requirements.filter(({ key }) => key !== zoneKey && key !== capacityTypeKey) },
    zone,
    capacityType: pool.capacityType,
    allocatable: { ...type.capacity, cpu: `${cpu}m`, memory: `${memory}Mi` },
    nodeClassRef,
    ...own,
    ...(pool.taint === undefined ? {} : { taints: [pool.taint] }),
    created,
    conditions: ['Consolidatable'],
  })
}
