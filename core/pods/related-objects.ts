import type { FoundTemplate } from '../capacity-buffer/capacity-buffer.ts'
import type { LabelSelector, ObjectMeta, Pod, RequirementSpec } from '../objects.ts'

// Objects that pods are made by, grouped by and store in.

/** A DaemonSet, as the pod it puts on each node. */
export interface DaemonSet {
  readonly kind: 'DaemonSet'
  readonly metadata: ObjectMeta
  readonly pod: Pod
}

export interface VolumeAttachment {
  readonly kind: 'VolumeAttachment'
  readonly metadata: ObjectMeta
  readonly nodeName: string
  readonly persistentVolumeName?: string
}

export interface Namespace {
  readonly kind: 'Namespace'
  readonly metadata: ObjectMeta
}

export interface Service {
  readonly kind: 'Service'
  readonly metadata: ObjectMeta
  /** Absent: it selects nothing. */
  readonly selector?: Readonly<Record<string, string>>
}

/** What makes pods of one kind, as far as it says which pods are its own. */
export interface PodController {
  readonly kind: 'ReplicaSet' | 'StatefulSet' | 'ReplicationController'
  readonly metadata: ObjectMeta
  readonly selector?: LabelSelector
  /** What CapacityBuffers need of it; set only where they count. */
  readonly found?: FoundTemplate
}

export interface PersistentVolumeClaim {
  readonly kind: 'PersistentVolumeClaim'
  readonly metadata: ObjectMeta
  readonly volumeName?: string
  readonly storageClassName?: string
  readonly phase?: string
  /** Only one pod at a time may use it: access mode ReadWriteOncePod. */
  readonly isOncePod?: true
}

export interface PersistentVolume {
  readonly kind: 'PersistentVolume'
  readonly metadata: ObjectMeta
  /** The CSI driver that serves it, in-tree disks of a known driver included. */
  readonly driver?: string
  /** Whether it lies on one machine, so that its hostname says nothing about where it may be made again. */
  readonly isLocal: boolean
  readonly nodeSelectorTerms: readonly { readonly matchExpressions?: readonly RequirementSpec[] }[]
}

export interface StorageClass {
  readonly kind: 'StorageClass'
  readonly metadata: ObjectMeta
  readonly provisioner: string
  readonly volumeBindingMode?: string
  readonly allowedTopologies: readonly {
    readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[]
  }[]
}

export interface CsiNode {
  readonly kind: 'CSINode'
  readonly metadata: ObjectMeta
  /** Drivers of the node, each with how many volumes it can attach; without a number there is no limit. */
  readonly drivers: readonly { readonly name: string; readonly count?: number }[]
}
