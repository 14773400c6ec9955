import type { Role } from '../../../api/config.ts'
import type { NodeClass } from '../../../api/objects.ts'
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
export type CachedKind = CachedObject['kind']

/** The roles that watch the cluster. */
type WatchingRole = Exclude<Role, 'conversion'>

interface KindRule {
  readonly resource: ResourceName
  readonly decode: (json: Json) => CachedObject
  /** The roles whose code reads the kind; the chart grants the right to no other. */
  readonly roles: readonly WatchingRole[]
  /** Watched only where default spread constraints are configured. */
  readonly forDefaultSpread?: true
  /** Watched only with the gate NodeOverlay. */
  readonly forOverlays?: true
}

const everyRole = ['core', 'bridge', 'azure', 'planner'] as const
const planner = ['planner'] as const

/** Decodes a controller; an object in a list does not contain its kind. */
const controller = (kind: PodController['kind']) => (json: Json) => decodePodController({ ...json, kind })

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
    forOverlays: true,
  },
  DaemonSet: { resource: 'daemonsets', decode: decodeDaemonSet, roles: planner },
  PodDisruptionBudget: {
    resource: 'poddisruptionbudgets',
    decode: decodePodDisruptionBudget,
    roles: ['core', 'planner'],
  },
  VolumeAttachment: { resource: 'volumeattachments', decode: decodeVolumeAttachment, roles: ['core', 'planner'] },
  Namespace: { resource: 'namespaces', decode: decodeNamespace, roles: planner },
  PersistentVolumeClaim: {
    resource: 'persistentvolumeclaims',
    decode: decodePersistentVolumeClaim,
    roles: planner,
  },
  PersistentVolume: { resource: 'persistentvolumes', decode: decodePersistentVolume, roles: planner },
  StorageClass: { resource: 'storageclasses', decode: decodeStorageClass, roles: planner },
  CSINode: { resource: 'csinodes', decode: decodeCsiNode, roles: planner },
  // There can be many of these, with large pod templates; only metadata and selector are kept.
  Service: { resource: 'services', decode: decodeService, roles: planner, forDefaultSpread: true },
  ReplicaSet: { resource: 'replicasets', decode: controller('ReplicaSet'), roles: planner, forDefaultSpread: true },
  StatefulSet: { resource: 'statefulsets', decode: controller('StatefulSet'), roles: planner, forDefaultSpread: true },
  ReplicationController: {
    resource: 'replicationcontrollers',
    decode: controller('ReplicationController'),
    roles: planner,
    forDefaultSpread: true,
  },
}

/** How a process uses its cache. */
export interface CacheUse {
  /** The roles of the process. Default: all. */
  readonly roles?: readonly Role[]
  /** Whether it applies the cluster's default spread constraints to pods without any. */
  readonly defaultSpread?: boolean
  /** Whether NodeOverlays count. */
  readonly overlays?: boolean
  /** Node conditions that announce the end of a VM. */
  readonly nodeRules?: NodeRules
}

/** Returns the kinds that a process watches. */
export function kindsFor({
  roles = everyRole,
  defaultSpread = false,
  overlays = false,
}: CacheUse): readonly CachedKind[] {
  return (Object.keys(kindRules) as CachedKind[]).filter((kind) => {
    const { roles: readers, forDefaultSpread = false, forOverlays = false } = kindRules[kind]
    if ((forDefaultSpread && !defaultSpread) || (forOverlays && !overlays)) return false
    return readers.some((role) => roles.includes(role))
  })
}
