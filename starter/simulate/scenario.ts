import {
  decodeDaemonSet,
  decodeNode,
  decodeNodeClaim,
  decodeNodePool,
  decodePod,
  decodePodDisruptionBudget,
} from '../../activities/kubernetes/decode.ts'
import {
  decodeCsiNode,
  decodeNamespace,
  decodePersistentVolume,
  decodePersistentVolumeClaim,
  decodePodController,
  decodeService,
  decodeStorageClass,
} from '../../activities/kubernetes/decode-storage.ts'
import type { InstanceType, Overhead } from '../../core/instance-type.ts'
import { coreWellKnownLabels } from '../../core/labels.ts'
import type { NodePool, RequirementSpec } from '../../core/objects.ts'
import { requirements } from '../../core/requirements.ts'
import { parseResources } from '../../core/resources.ts'
import { type ClusterObjects, schedulingSnapshot } from '../../core/scheduling/cluster.ts'
import type { SchedulingOptions, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/spread-defaults.ts'

type Json = Record<string, unknown>
type Amounts = Record<string, string | number>
type OverheadJson = { readonly [Part in keyof Overhead]: Amounts }

interface TypeJson {
  readonly name: string
  readonly requirements?: readonly RequirementSpec[]
  readonly offerings?: readonly {
    readonly requirements?: readonly RequirementSpec[]
    readonly price?: number
    readonly available?: boolean
    readonly reservationCapacity?: number
    readonly capacityOverride?: Amounts
    readonly overheadOverride?: OverheadJson
  }[]
  readonly capacity?: Amounts
  readonly overhead?: OverheadJson
  readonly volumeAttachmentLimits?: Readonly<Record<string, number>>
}

/** Names of types by pool. */
type TypesOfPools = Readonly<Record<string, readonly string[] | null>>

/** One scheduling problem as a file holds it: what the API has, what the cloud offers, and options. */
interface ScenarioJson {
  readonly now?: string
  readonly options?: {
    readonly preferencePolicy?: 'Respect' | 'Ignore'
    readonly minValuesPolicy?: 'Strict' | 'BestEffort'
    readonly featureGates?: { readonly ReservedCapacity?: boolean }
    readonly schedulerConfig?: {
      readonly podTopologySpread?: { readonly defaultConstraints?: readonly DefaultSpreadConstraint[] }
    }
  }
  readonly wellKnownLabels?: readonly string[]
  readonly reservationIDLabel?: string
  readonly instanceTypes?: readonly TypeJson[]
  readonly instanceTypesByNodePool?: TypesOfPools
  readonly objects?: readonly Json[]
}

export interface Scenario {
  readonly snapshot: SchedulingSnapshot
  readonly options: SchedulingOptions
}

/** Completes a scenario as an API server would and gathers what the scheduler looks at. */
export function readScenario(json: unknown): Scenario {
  const scenario = (withoutNulls(json) ?? {}) as ScenarioJson
  const typesOfPools = (json as ScenarioJson | null)?.instanceTypesByNodePool ?? {}
  const now = scenario.now ?? new Date(0).toISOString()
  const label = scenario.reservationIDLabel ?? 'karpenter.test.sh/reservation-id'
  const wellKnown = new Set([...coreWellKnownLabels, ...(scenario.wellKnownLabels ?? []), label])
  const { preferencePolicy, minValuesPolicy, featureGates, schedulerConfig } = scenario.options ?? {}
  const cluster = clusterOf(scenario, typesOfPools, now)
  return {
    snapshot: schedulingSnapshot(cluster, {
      now: Date.parse(now),
      wellKnownLabels: wellKnown,
      defaultSpread: schedulerConfig?.podTopologySpread?.defaultConstraints ?? [],
    }),
    options: {
      preferencePolicy: preferencePolicy ?? 'Respect',
      minValuesPolicy: minValuesPolicy ?? 'Strict',
      reservedCapacity: featureGates?.ReservedCapacity ?? true,
      reservationIdLabel: label,
      wellKnownLabels: wellKnown,
    },
  }
}

/** Fields that are null are as good as absent. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, item]) => item !== null && item !== undefined)
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutNulls(item)]))
}

/** A pool that is listed without types has none; one that is not listed has all. */
function clusterOf(scenario: ScenarioJson, typesOfPools: TypesOfPools, now: string): ClusterObjects {
  const objects = (scenario.objects ?? []).map((object) => completed(object, now))
  const all = <T>(decode: (json: Json) => T, ...kinds: readonly string[]): readonly T[] =>
    objects.filter(({ kind }) => kinds.includes(String(kind))).map(decode)
  const nodePools = all(decodeNodePool, 'NodePool').map(readyUnlessTold)
  const types = (scenario.instanceTypes ?? []).map(instanceType)
  return {
    pods: all(decodePod, 'Pod'),
    nodes: all(decodeNode, 'Node'),
    nodeClaims: all(decodeNodeClaim, 'NodeClaim'),
    nodePools,
    daemonSets: all(decodeDaemonSet, 'DaemonSet'),
    podDisruptionBudgets: all(decodePodDisruptionBudget, 'PodDisruptionBudget'),
    namespaces: all(decodeNamespace, 'Namespace'),
    services: all(decodeService, 'Service'),
    controllers: all(decodePodController, 'ReplicaSet', 'StatefulSet', 'ReplicationController'),
    persistentVolumeClaims: all(decodePersistentVolumeClaim, 'PersistentVolumeClaim'),
    persistentVolumes: all(decodePersistentVolume, 'PersistentVolume'),
    storageClasses: all(decodeStorageClass, 'StorageClass'),
    csiNodes: all(decodeCsiNode, 'CSINode'),
    instanceTypes: new Map(
      nodePools.map(({ metadata: { name } }) => {
        const own = typesOfPools[name]
        return [name, own === undefined ? types : types.filter((type) => own?.includes(type.name))]
      }),
    ),
  }
}

function readyUnlessTold(nodePool: NodePool): NodePool {
  if (nodePool.conditions.length > 0) return nodePool
  return { ...nodePool, conditions: [{ type: 'Ready', status: 'True' }] }
}

const clusterScoped: ReadonlySet<string> = new Set([
  'NodePool',
  'NodeClaim',
  'Node',
  'Namespace',
  'PersistentVolume',
  'StorageClass',
  'CSINode',
])

/** What an API server and the scheduler would have filled in. */
function completed(object: Json, now: string): Json {
  const kind = String(object['kind'])
  const given = (object['metadata'] ?? {}) as Json & { readonly namespace?: string }
  const namespace = clusterScoped.has(kind) ? undefined : (given.namespace ?? 'default')
  const metadata = {
    ...given,
    ...(namespace === undefined ? {} : { namespace }),
    uid: given['uid'] || `${kind}/${namespace ?? ''}/${String(given['name'])}`,
    creationTimestamp: given['creationTimestamp'] || now,
  }
  const spec = (object['spec'] ?? {}) as Json
  return { ...object, metadata, ...(kind === 'Pod' ? { spec, status: podStatus(object, spec) } : {}) }
}

function podStatus(object: Json, spec: Json): Json {
  const status = (object['status'] ?? {}) as Json
  const isBound = Boolean(spec['nodeName'])
  const conditions = (status['conditions'] ?? []) as readonly Json[]
  const isJudged = isBound || conditions.some(({ type }) => type === 'PodScheduled')
  const judged = isJudged
    ? conditions
    : [...conditions, { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }]
  return { ...status, phase: status['phase'] || (isBound ? 'Running' : 'Pending'), conditions: judged }
}

function instanceType(json: TypeJson): InstanceType {
  const { name, volumeAttachmentLimits } = json
  return {
    name,
    requirements: requirements(json.requirements ?? []),
    offerings: (json.offerings ?? []).map(({ capacityOverride, overheadOverride, ...offering }) => ({
      requirements: requirements(offering.requirements ?? []),
      price: offering.price ?? 0,
      available: offering.available ?? false,
      reservationCapacity: offering.reservationCapacity ?? 0,
      ...(capacityOverride === undefined ? {} : { capacityOverride: parseResources(capacityOverride) }),
      ...(overheadOverride === undefined ? {} : { overheadOverride: overheadOf(overheadOverride) }),
    })),
    capacity: parseResources(json.capacity),
    overhead: overheadOf(json.overhead ?? {}),
    ...(volumeAttachmentLimits === undefined ? {} : { volumeAttachmentLimits }),
  }
}

function overheadOf({ kubeReserved, systemReserved, evictionThreshold }: OverheadJson): Overhead {
  return {
    kubeReserved: parseResources(kubeReserved),
    systemReserved: parseResources(systemReserved),
    evictionThreshold: parseResources(evictionThreshold),
  }
}
