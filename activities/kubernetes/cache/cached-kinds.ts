import type { Role } from '../../../api/config.ts'
import type { NodeClass } from '../../../api/objects.ts'
import type { BufferSource, CapacityBuffer } from '../../../core/capacity-buffer/capacity-buffer.ts'
import type { NodeRules } from '../../../core/node-claim/node-health.ts'
import type { Node, NodeClaim, NodeOverlay, NodePool, Pod, PodDisruptionBudget } from '../../../core/objects.ts'
import type {
  CsiNode,
  DaemonSet,
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  PodController,
  Service,
  StorageClass,
  VolumeAttachment,
} from '../../../core/pods/related-objects.ts'
import type { Json } from '../client/answers.ts'
import type { ResourceName } from '../client/resources.ts'
import {
  decodeDaemonSet,
  decodeNode,
  decodeNodeClaim,
  decodeNodeClass,
  decodeNodeOverlay,
  decodeNodePool,
  decodePodDisruptionBudget,
  decodeVolumeAttachment,
} from './decode.ts'
import { decodeBufferSource, decodeCapacityBuffer, decodePodMaker } from './decode-buffer.ts'
import { decodePod } from './decode-pod.ts'
import {
  decodeCsiNode,
  decodeNamespace,
  decodePersistentVolume,
  decodePersistentVolumeClaim,
  decodePodController,
  decodeService,
  decodeStorageClass,
} from './decode-storage.ts'

export type CachedObject =
  | Pod
  | Node
  | NodeClaim
  | NodePool
  | NodeClass
  | NodeOverlay
  | DaemonSet
  | PodDisruptionBudget
  | VolumeAttachment
  | Namespace
  | PersistentVolumeClaim
  | PersistentVolume
  | StorageClass
  | CsiNode
  | Service
  | PodController
  | CapacityBuffer
  | BufferSource
export type CachedKind = CachedObject['kind']

/** The roles that watch the cluster. */
type WatchingRole = Exclude<Role, 'conversion'>

interface KindRule {
  readonly resource: ResourceName
  readonly decode: (json: Json) => CachedObject
  /** The roles whose code reads the kind; the chart grants the right to no other. */
  readonly roles: readonly WatchingRole[]
  /** Watched only where one of these is in use. Default: always. */
  readonly onlyFor?: readonly Feature[]
}

/** What some kinds are watched for: default spread constraints, and the gates NodeOverlay and CapacityBuffer. */
type Feature = 'defaultSpread' | 'overlays' | 'buffers'

const everyRole = ['core', 'bridge', 'azure', 'planner'] as const
const planner = ['planner'] as const

/** Decodes a controller; an object in a list does not contain its kind. */
const controller = (kind: PodController['kind']) => (json: Json) => decodePodController({ ...json, kind })

const podMaker = (kind: PodController['kind']) => (json: Json) => decodePodMaker({ ...json, kind })
const bufferSource = (kind: BufferSource['kind']) => (json: Json) => decodeBufferSource({ ...json, kind })
const spreadOrBuffers = ['defaultSpread', 'buffers'] as const

/** Decoders and watching roles by kind. */
export const kindRules: Readonly<Record<CachedKind, KindRule>> = {
  Pod: { resource: 'pods', decode: decodePod, roles: ['core', 'bridge', 'planner'] },
  Node: { resource: 'nodes', decode: decodeNode, roles: everyRole },
  NodeClaim: { resource: 'nodeclaims', decode: decodeNodeClaim, roles: everyRole },
  NodePool: { resource: 'nodepools', decode: decodeNodePool, roles: everyRole },
  AKSNodeClass: { resource: 'aksnodeclasses', decode: decodeNodeClass, roles: everyRole },
  NodeOverlay: {
    resource: 'nodeoverlays',
    decode: decodeNodeOverlay,
    roles: ['bridge', 'azure', 'planner'],
    onlyFor: ['overlays'],
  },
  DaemonSet: { resource: 'daemonsets', decode: decodeDaemonSet, roles: planner },
  PodDisruptionBudget: {
    resource: 'poddisruptionbudgets',
    decode: decodePodDisruptionBudget,
    roles: ['core', 'planner'],
  },
  VolumeAttachment: { resource: 'volumeattachments', decode: decodeVolumeAttachment, roles: ['core', 'planner'] },
  Namespace: { resource: 'namespaces', decode: decodeNamespace, roles: planner },
  PersistentVolumeClaim: { resource: 'persistentvolumeclaims', decode: decodePersistentVolumeClaim, roles: planner },
  PersistentVolume: { resource: 'persistentvolumes', decode: decodePersistentVolume, roles: planner },
  StorageClass: { resource: 'storageclasses', decode: decodeStorageClass, roles: planner },
  CSINode: { resource: 'csinodes', decode: decodeCsiNode, roles: planner },
  CapacityBuffer: {
    resource: 'capacitybuffers',
    decode: decodeCapacityBuffer,
    roles: ['bridge', 'planner'],
    onlyFor: ['buffers'],
  },
  PodTemplate: { resource: 'podtemplates', decode: bufferSource('PodTemplate'), roles: planner, onlyFor: ['buffers'] },
  Deployment: { resource: 'deployments', decode: bufferSource('Deployment'), roles: planner, onlyFor: ['buffers'] },
  // There can be many of these, with large pod templates; only metadata and selector are kept, and for buffers what placement reads of the template.
  Service: { resource: 'services', decode: decodeService, roles: planner, onlyFor: ['defaultSpread'] },
  ReplicaSet: { resource: 'replicasets', decode: podMaker('ReplicaSet'), roles: planner, onlyFor: spreadOrBuffers },
  StatefulSet: { resource: 'statefulsets', decode: podMaker('StatefulSet'), roles: planner, onlyFor: spreadOrBuffers },
  ReplicationController: {
    resource: 'replicationcontrollers',
    decode: controller('ReplicationController'),
    roles: planner,
    onlyFor: ['defaultSpread'],
  },
}

export interface CacheUse extends Partial<Readonly<Record<Feature, boolean>>> {
  /** The roles of the process. Default: all. */
  readonly roles?: readonly Role[]
  /** Whether NodeClaims of AKS machines that were adopted are seen. */
  readonly machines?: boolean
  /** Node conditions that announce the end of a VM. */
  readonly nodeRules?: NodeRules
}

/** Returns the kinds that a process watches. */
export function kindsFor({ roles = everyRole, ...use }: CacheUse): readonly CachedKind[] {
  return (Object.keys(kindRules) as CachedKind[]).filter((kind) => {
    const { roles: readers, onlyFor } = kindRules[kind]
    if (onlyFor?.some((feature) => use[feature] === true) === false) return false
    return readers.some((role) => roles.includes(role))
  })
}
