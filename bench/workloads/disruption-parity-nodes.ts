import { batchTaint, hashed, nodeClassRef, type ParityPool, zones } from './disruption-parity-pools.ts'
import type { Random } from './random.ts'
import { hostnameKey, type InstanceTypeJson, nodeJson, type ObjectJson } from './scenario.ts'

interface NodesOptions {
  readonly types: readonly InstanceTypeJson[]
  readonly pools: readonly ParityPool[]
  readonly count: number
  readonly method: string
}

/** A node, and what is left of it: millicores and MiB. */
export interface ParityNode {
  readonly name: string
  readonly zone: string
  readonly isTainted: boolean
  freeCpu: number
  freeMemory: number
  readonly objects: readonly ObjectJson[]
}

/** Most are in use and may go; some belong to nobody, are starting, unready, cordoned, going, or of a type that is gone. */
export function parityNodes(random: Random, options: NodesOptions): readonly ParityNode[] {
  return Array.from({ length: options.count }, (_, index) => {
    const name = `n${String(index).padStart(2, '0')}`
    return random.chance(0.04) ? unmanaged(random, name) : managed(random, name, index, options)
  })
}

function unmanaged(random: Random, name: string): ParityNode {
  const amounts = { cpu: '4', memory: '8Gi', pods: '110' }
  const zone = random.pick(zones)
  return {
    name,
    zone,
    isTainted: false,
    freeCpu: 4000,
    freeMemory: 8192,
    objects: [
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, uid: name, labels: { [hostnameKey]: name, 'topology.kubernetes.io/zone': zone } },
        spec: { providerID: `own:///${name}` },
        status: { capacity: amounts, allocatable: amounts, conditions: [{ type: 'Ready', status: 'True' }] },
      },
    ],
  }
}

function managed(random: Random, name: string, index: number, { types, pools, method }: NodesOptions): ParityNode {
  const pool = random.pick(pools)
  const type = random.pick(types)
  const cpu = Number(type.capacity['cpu']) * 1000 - 100
  const memory = Number.parseInt(type.capacity['memory'] ?? '0', 10) * 1024 - 300
  const zone = random.pick(zones)
  const conditions = [
    ...(random.chance(0.92) ? ['Consolidatable'] : []),
    ...(random.chance(method === 'drift' ? 0.6 : 0.1) ? ['Drifted'] : []),
  ]
  const made = nodeJson({
    name,
    nodePool: pool.name,
    type: { ...type, name: random.chance(0.03) ? 't.gone' : type.name },
    zone,
    capacityType: random.pick(pool.capacityTypes),
    allocatable: { ...type.capacity, cpu: `${cpu}m`, memory: `${memory}Mi` },
    nodeClassRef,
    labels: { team: `team-${pool.name.slice(-1)}`, ...(random.chance(0.05) ? { team: 'other' } : {}) },
    ...(pool.isTainted ? { taints: [batchTaint] } : {}),
    created: `2025-12-31T0${index % 10}:${10 + index}:00Z`,
    conditions,
  })
  return {
    name,
    zone,
    isTainted: pool.isTainted,
    freeCpu: cpu,
    freeMemory: memory,
    objects: afflicted(
      random,
      made.map((object) => annotated(object, pool.hash, random.chance(0.9))),
    ),
  }
}

function annotated(object: ObjectJson, hash: string, isSame: boolean): ObjectJson {
  if (object.kind !== 'NodeClaim') return object
  const spec = { ...object.spec, expireAfter: '720h' }
  return { ...object, spec, metadata: { ...object.metadata, ...hashed(isSame ? hash : '999') } }
}

type Change = (object: ObjectJson) => ObjectJson

const onNode =
  (change: Change): Change =>
  (object) =>
    object.kind === 'Node' ? change(object) : object

const onClaim =
  (change: Change): Change =>
  (object) =>
    object.kind === 'NodeClaim' ? change(object) : object

const withMetadata =
  (more: Readonly<Record<string, unknown>>): Change =>
  (object) => ({ ...object, metadata: { ...object.metadata, ...more } })

const withCondition =
  (type: string, status: string): Change =>
  (object) => {
    const conditions = object.status?.['conditions'] as readonly Readonly<Record<string, string>>[]
    const changed = conditions.map((one) => (one['type'] === type ? { ...one, status } : one))
    return { ...object, status: { ...object.status, conditions: changed } }
  }

const doNotDisrupt = withMetadata({ annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })

const leaving = onClaim(
  withMetadata({ deletionTimestamp: '2025-12-31T23:59:00Z', finalizers: ['karpenter.sh/termination'] }),
)

/** What may be the matter with a node, and how often. */
const afflictions: readonly (readonly [number, Change])[] = [
  [0.05, onNode(doNotDisrupt)],
  [0.04, onNode(withCondition('Ready', 'False'))],
  [0.04, onNode((node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }))],
  [0.05, onClaim((claim) => ({ ...claim, spec: { ...claim.spec, terminationGracePeriod: '5m' } }))],
  [0.05, onClaim((claim) => ({ ...claim, status: { ...claim.status, lastPodEventTime: '2025-12-31T23:59:50Z' } }))],
]

function afflicted(random: Random, objects: readonly ObjectJson[]): readonly ObjectJson[] {
  const some = afflictions.filter(([share]) => random.chance(share)).map(([, change]) => change)
  // Of a node that is both, the peer's version and the newest one do not tell the same.
  if (random.chance(0.08)) some.push(random.pick([leaving, uninitialized]))
  return some.reduce((changed, change) => changed.map(change), objects)
}

function uninitialized(object: ObjectJson): ObjectJson {
  if (object.kind === 'NodeClaim') return withCondition('Initialized', 'Unknown')(object)
  const { 'karpenter.sh/initialized': _, ...labels } = object.metadata['labels'] as Readonly<Record<string, string>>
  return withMetadata({ labels })(object)
}
