import type { NodeRules } from '../../core/node-claim/node-health.ts'
import type {
  CsiNode,
  DaemonSet,
  Namespace,
  Node,
  NodeClaim,
  NodeClass,
  NodePool,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodController,
  PodDisruptionBudget,
  Service,
  StorageClass,
  VolumeAttachment,
} from '../../core/objects.ts'
import type { Json } from './client.ts'
import {
  decodeDaemonSet,
  decodeNode,
  decodeNodeClaim,
  decodeNodeClass,
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
import type { ResourceName } from './resources.ts'

export type CachedObject =
  | Pod
  | Node
  | NodeClaim
  | NodePool
  | NodeClass
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

/** Who needs a kind: every process; one that places pods; one that places pods and knows default spread constraints. */
type Need = 'always' | 'placement' | 'defaultSpread'

interface KindRule {
  readonly resource: ResourceName
  readonly decode: (json: Json) => CachedObject
  readonly need: Need
}

/** An object in a list does not say its kind. */
const controller = (kind: PodController['kind']) => (json: Json) => decodePodController({ ...json, kind })

/** How each kind is read, and who watches it. */
export const kindRules: Readonly<Record<CachedKind, KindRule>> = {
  Pod: { resource: 'pods', decode: decodePod, need: 'always' },
  Node: { resource: 'nodes', decode: decodeNode, need: 'always' },
  NodeClaim: { resource: 'nodeclaims', decode: decodeNodeClaim, need: 'always' },
  NodePool: { resource: 'nodepools', decode: decodeNodePool, need: 'always' },
  AKSNodeClass: { resource: 'aksnodeclasses', decode: decodeNodeClass, need: 'always' },
  DaemonSet: { resource: 'daemonsets', decode: decodeDaemonSet, need: 'always' },
  PodDisruptionBudget: { resource: 'poddisruptionbudgets', decode: decodePodDisruptionBudget, need: 'always' },
  VolumeAttachment: { resource: 'volumeattachments', decode: decodeVolumeAttachment, need: 'always' },
  Namespace: { resource: 'namespaces', decode: decodeNamespace, need: 'placement' },
  PersistentVolumeClaim: {
    resource: 'persistentvolumeclaims',
    decode: decodePersistentVolumeClaim,
    need: 'placement',
  },
  PersistentVolume: { resource: 'persistentvolumes', decode: decodePersistentVolume, need: 'placement' },
  StorageClass: { resource: 'storageclasses', decode: decodeStorageClass, need: 'placement' },
  CSINode: { resource: 'csinodes', decode: decodeCsiNode, need: 'placement' },
  // There can be many of these, with large pod templates; of what is sent only metadata and selector are kept.
  Service: { resource: 'services', decode: decodeService, need: 'defaultSpread' },
  ReplicaSet: { resource: 'replicasets', decode: controller('ReplicaSet'), need: 'defaultSpread' },
  StatefulSet: { resource: 'statefulsets', decode: controller('StatefulSet'), need: 'defaultSpread' },
  ReplicationController: {
    resource: 'replicationcontrollers',
    decode: controller('ReplicationController'),
    need: 'defaultSpread',
  },
}

/** What a process does with its cache. */
export interface CacheUse {
  /** It places pods. */
  readonly placement?: boolean
  /** It gives pods without spread constraints those of the cluster. */
  readonly defaultSpread?: boolean
  /** What of a Node's conditions announces the end of its VM. */
  readonly nodeRules?: NodeRules
}

export function kindsFor({ placement = false, defaultSpread = false }: CacheUse): readonly CachedKind[] {
  const isNeeded = { always: true, placement, defaultSpread: placement && defaultSpread }
  return (Object.keys(kindRules) as CachedKind[]).filter((kind) => isNeeded[kindRules[kind].need])
}
