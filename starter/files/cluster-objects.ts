import {
  decodeDaemonSet,
  decodeNode,
  decodeNodeClaim,
  decodeNodePool,
  decodePodDisruptionBudget,
} from '../../activities/kubernetes/cache/decode.ts'
import { decodePod } from '../../activities/kubernetes/cache/decode-pod.ts'
import {
  decodeCsiNode,
  decodeNamespace,
  decodePersistentVolume,
  decodePersistentVolumeClaim,
  decodePodController,
  decodeService,
  decodeStorageClass,
} from '../../activities/kubernetes/cache/decode-storage.ts'
import { annotations } from '../../core/requirements/labels.ts'
import type { ClusterObjects } from '../../core/scheduling/cluster.ts'
import { isObject } from '../../core/values/json.ts'

export type Json = Record<string, unknown>

/** Objects that an API server could have answered, as placement reads them. */
export function clusterObjects(objects: readonly Json[]): Omit<ClusterObjects, 'instanceTypes'> {
  const byKind = Map.groupBy(objects, ({ kind }) => String(kind))
  const all = <T>(decode: (json: Json) => T, ...kinds: readonly string[]): readonly T[] =>
    kinds.flatMap((kind) => (byKind.get(kind) ?? []).map(decode))
  return {
    pods: all(decodePod, 'Pod'),
    nodes: all(decodeNode, 'Node'),
    nodeClaims: all(decodeNodeClaim, 'NodeClaim'),
    nodePools: all(decodeNodePool, 'NodePool'),
    daemonSets: all(decodeDaemonSet, 'DaemonSet'),
    podDisruptionBudgets: all(decodePodDisruptionBudget, 'PodDisruptionBudget'),
    namespaces: all(decodeNamespace, 'Namespace'),
    services: all(decodeService, 'Service'),
    controllers: all(decodePodController, 'ReplicaSet', 'StatefulSet', 'ReplicationController'),
    persistentVolumeClaims: all(decodePersistentVolumeClaim, 'PersistentVolumeClaim'),
    persistentVolumes: all(decodePersistentVolume, 'PersistentVolume'),
    storageClasses: all(decodeStorageClass, 'StorageClass'),
    csiNodes: all(decodeCsiNode, 'CSINode'),
  }
}

const clusterScoped: ReadonlySet<string> = new Set([
  'NodePool',
  'NodeClaim',
  'AKSNodeClass',
  'NodeOverlay',
  'Node',
  'Namespace',
  'PersistentVolume',
  'StorageClass',
  'CSINode',
  'RuntimeClass',
  'PriorityClass',
])

/** The namespace that an object of this kind lives in; undefined: in none. */
export function namespaceOf(kind: unknown, metadata: unknown): string | undefined {
  if (clusterScoped.has(String(kind))) return undefined
  return (isObject(metadata) && (metadata['namespace'] as string)) || 'default'
}

/** What an API server gives every object. */
export function withMetadata(object: Json, now: string): Json {
  const kind = String(object['kind'])
  const given = (object['metadata'] ?? {}) as Json
  const namespace = namespaceOf(kind, given)
  const metadata = {
    ...given,
    ...(namespace === undefined ? {} : { namespace }),
    uid: given['uid'] || recordedUid(kind, given) || `${kind}/${namespace ?? ''}/${String(given['name'])}`,
    // A Node that does not say since when it is there was there when its NodeClaim was registered.
    creationTimestamp: given['creationTimestamp'] || (kind === 'Node' ? '1970-01-01T00:00:00Z' : now),
  }
  return { ...object, metadata }
}

/** The uid that registration recorded on a Node whose own was taken out of the file. */
function recordedUid(kind: string, { annotations: own }: Json): unknown {
  return kind === 'Node' && isObject(own) ? own[annotations.nodeUid] : undefined
}

/** A pod and a NodePool as scenarios mean them: unless they say otherwise, the scheduler has given up on the one, or its gates hold it back, and the other is ready. */
export function withStatus(object: Json): Json {
  if (object['kind'] === 'Pod') {
    const spec = (object['spec'] ?? {}) as Json
    return { ...object, spec, status: podStatus(object, spec) }
  }
  if (object['kind'] !== 'NodePool') return object
  const status = (object['status'] ?? {}) as Json & { readonly conditions?: readonly Json[] }
  if ((status.conditions ?? []).length > 0) return object
  return { ...object, status: { ...status, conditions: [{ type: 'Ready', status: 'True' }] } }
}

function podStatus(object: Json, spec: Json): Json {
  const status = (object['status'] ?? {}) as Json
  const isBound = Boolean(spec['nodeName'])
  const isGated = Array.isArray(spec['schedulingGates']) && spec['schedulingGates'].length > 0
  const conditions = (status['conditions'] ?? []) as readonly Json[]
  const isJudged = isBound || conditions.some(({ type }) => type === 'PodScheduled')
  const judged = isJudged
    ? conditions
    : [...conditions, { type: 'PodScheduled', status: 'False', reason: isGated ? 'SchedulingGated' : 'Unschedulable' }]
  return { ...status, phase: status['phase'] || (isBound ? 'Running' : 'Pending'), conditions: judged }
}

/** Fields that are null are as good as absent. What holds none is not copied. */
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? listWithoutNulls(value) : mapWithoutNulls(value as Json)
}

function listWithoutNulls(source: readonly unknown[]): readonly unknown[] {
  let changed: unknown[] | undefined
  for (let at = 0; at < source.length; at++) {
    const own = source[at]
    const kept = withoutNulls(own)
    if (kept !== own || own === null) changed ??= source.slice(0, at)
    if (own !== null) changed?.push(kept)
  }
  return changed ?? source
}

function mapWithoutNulls(source: Json): Json {
  let changed: Json | undefined
  for (const key in source) {
    const own = source[key]
    if (typeof own === 'string') continue
    const kept = withoutNulls(own)
    if (kept === own && own !== null) continue
    changed ??= { ...source }
    if (kept === null) delete changed[key]
    else changed[key] = kept
  }
  return changed ?? source
}
