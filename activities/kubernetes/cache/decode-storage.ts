import type { LabelSelector } from '../../../core/objects.ts'
import type {
  CsiNode,
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  PodController,
  Service,
  StorageClass,
} from '../../../core/pods/related-objects.ts'
import type { Json } from '../client/answers.ts'
import { decodeMeta } from './decode-meta.ts'

// Objects that pods refer to: their volumes, and what groups them.

export function decodeNamespace(json: Json): Namespace {
  return { kind: 'Namespace', metadata: decodeMeta(json) }
}

export function decodeService(json: Json): Service {
  const { selector } = (json['spec'] ?? {}) as { selector?: Record<string, string> }
  return { kind: 'Service', metadata: decodeMeta(json), ...(selector === undefined ? {} : { selector }) }
}

/** Decodes a controller of pods. A ReplicationController's selector is a plain map of labels. */
export function decodePodController(json: Json): PodController {
  const kind = json['kind'] as PodController['kind']
  const { selector } = (json['spec'] ?? {}) as { selector?: LabelSelector & Record<string, string> }
  const selecting = kind === 'ReplicationController' && selector !== undefined ? { matchLabels: selector } : selector
  return { kind, metadata: decodeMeta(json), ...(selecting === undefined ? {} : { selector: selecting }) }
}

export function decodePersistentVolumeClaim(json: Json): PersistentVolumeClaim {
  const spec = (json['spec'] ?? {}) as { volumeName?: string; storageClassName?: string; accessModes?: string[] }
  const status = (json['status'] ?? {}) as { phase?: string }
  return {
    kind: 'PersistentVolumeClaim',
    metadata: decodeMeta(json),
    ...(spec.volumeName ? { volumeName: spec.volumeName } : {}),
    ...(spec.storageClassName ? { storageClassName: spec.storageClassName } : {}),
    ...(status.phase === undefined ? {} : { phase: status.phase }),
    ...(spec.accessModes?.includes('ReadWriteOncePod') ? { isOncePod: true } : {}),
  }
}

interface VolumeSpecJson {
  csi?: { driver: string }
  awsElasticBlockStore?: unknown
  local?: unknown
  hostPath?: unknown
  nodeAffinity?: { required?: { nodeSelectorTerms?: PersistentVolume['nodeSelectorTerms'] } }
}

export function decodePersistentVolume(json: Json): PersistentVolume {
  const spec = (json['spec'] ?? {}) as VolumeSpecJson
  const driver = spec.csi?.driver ?? (spec.awsElasticBlockStore === undefined ? undefined : 'ebs.csi.aws.com')
  return {
    kind: 'PersistentVolume',
    metadata: decodeMeta(json),
    isLocal: spec.local !== undefined || spec.hostPath !== undefined,
    nodeSelectorTerms: spec.nodeAffinity?.required?.nodeSelectorTerms ?? [],
    ...(driver === undefined ? {} : { driver }),
  }
}

export function decodeStorageClass(json: Json): StorageClass {
  const { provisioner, volumeBindingMode, allowedTopologies } = json as {
    provisioner?: string
    volumeBindingMode?: string
    allowedTopologies?: StorageClass['allowedTopologies']
  }
  return {
    kind: 'StorageClass',
    metadata: decodeMeta(json),
    provisioner: provisioner ?? '',
    allowedTopologies: allowedTopologies ?? [],
    ...(volumeBindingMode === undefined ? {} : { volumeBindingMode }),
  }
}

export function decodeCsiNode(json: Json): CsiNode {
  const { drivers } = (json['spec'] ?? {}) as { drivers?: { name: string; allocatable?: { count?: number } }[] }
  return {
    kind: 'CSINode',
    metadata: decodeMeta(json),
    drivers: (drivers ?? []).map(({ name, allocatable }) => ({
      name,
      ...(allocatable?.count === undefined ? {} : { count: allocatable.count }),
    })),
  }
}
