import type { Draw } from './draw.ts'
import {
  capacityTypeKey,
  disk,
  file,
  hostnameKey,
  type Json,
  namespaces,
  nodeNames,
  type RequirementJson,
  requirementOn,
  type Subjects,
  zoneKey,
  zones,
} from './vocabulary.ts'

export const claimNames = ['data-0', 'data-1', 'data-2', 'data-3', 'shared', 'gone'] as const

/** Storage classes, volumes and claims, most of them sound. */
export function randomVolumes(draw: Draw, about: Subjects): readonly Json[] {
  if (!about.volumes) return []
  return [
    storageClass(draw, 'disks', disk),
    storageClass(draw, 'files', file),
    storageClass(draw, 'old', 'kubernetes.io/azure-disk'),
    ...claimNames
      .filter((name) => name !== 'gone')
      .flatMap((name) => draw.some(namespaces, 0.85).flatMap((namespace) => claim(draw, about, name, namespace))),
  ]
}

function storageClass(draw: Draw, name: string, provisioner: string): Json {
  const terms = draw.many(0, 2, () => ({
    matchLabelExpressions: [{ key: zoneKey, values: draw.someOf(zones) }],
  }))
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner,
    volumeBindingMode: draw.chance(0.95) ? 'WaitForFirstConsumer' : 'Immediate',
    ...draw.fields(0.4, () => ({ allowedTopologies: terms })),
  }
}

function claim(draw: Draw, about: Subjects, name: string, namespace: string): readonly Json[] {
  const storageClassName = draw.pick(['disks', 'disks', 'files', 'old'])
  const base = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' }
  if (draw.chance(0.4)) return [{ ...base, metadata: { name, namespace }, spec: { storageClassName } }]
  const volumeName = `pv-${namespace}-${name}`
  const bound = draw.chance(0.97) ? { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } } : {}
  return [
    {
      ...base,
      metadata: { name, namespace, ...bound },
      spec: { storageClassName, volumeName },
      status: { phase: 'Bound' },
    },
    ...draw.maybe(0.97, () => volume(draw, about, volumeName)),
  ]
}

function volume(draw: Draw, about: Subjects, name: string): Json {
  const terms = draw.many(0, 2, () => ({ matchExpressions: draw.many(1, 2, () => reach(draw, about)) }))
  const kind = draw.chance(0.15) ? { local: { path: '/' } } : { csi: { driver: draw.pick([disk, disk, file]) } }
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: { ...kind, ...(terms.length > 0 ? { nodeAffinity: { required: { nodeSelectorTerms: terms } } } : {}) },
  }
}

function reach(draw: Draw, about: Subjects): RequirementJson {
  if (about.hostnames && draw.chance(0.3)) return { key: hostnameKey, operator: 'In', values: draw.someOf(nodeNames) }
  if (draw.chance(0.1)) return requirementOn(draw, capacityTypeKey, ['spot', 'on-demand'])
  const key = draw.pick([zoneKey, zoneKey, 'topology.disk.csi.azure.com/zone'])
  return requirementOn(draw, key, zones)
}

export function csiNode(draw: Draw, name: string): Json {
  const driver = (driverName: string) => ({
    name: driverName,
    nodeID: name,
    ...draw.fields(0.8, () => ({ allocatable: { count: draw.below(4) } })),
  })
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name },
    spec: { drivers: draw.some([disk, file], 0.7).map(driver) },
  }
}
