import { boundVolume, claimOf, need, pod, pool, requirePool, typeKey, zoneKey } from './objects.ts'
import type { Situation } from './situation.ts'

const small = 'Standard_D2s_v5'

const storageClass = (name: string) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'WaitForFirstConsumer',
})

/** Pods whose volumes keep them from every node. */
export const ofVolumes: readonly Situation[] = [
  {
    name: 'no-claim',
    arrange: (world) => world.apply(pool('no-claim'), pod('no-claim', { claim: 'no-claim' })),
    says: [/unschedulable \(volume\): .*persistentvolumeclaims "no-claim" not found/],
    remedy: /create PersistentVolumeClaim (\S+), or correct claimName/,
    apply: (world) => world.apply(...boundVolume('no-claim')),
  },
  {
    name: 'no-class',
    arrange: (world) =>
      world.apply(
        pool('no-class'),
        claimOf('no-class', { storageClassName: 'absent-class' }),
        pod('no-class', { claim: 'no-class' }),
      ),
    says: [/unschedulable \(volume\): .*storageclasses.storage.k8s.io "absent-class" not found/],
    remedy: /create StorageClass (\S+), which PersistentVolumeClaim/,
    apply: (world, [, name = '']) => {
      const [volume] = boundVolume('no-class') as readonly [{ readonly spec: Readonly<Record<string, unknown>> }]
      const { claimRef: _, ...spec } = volume.spec
      return world.apply(storageClass(name), { ...volume, spec: { ...spec, storageClassName: name } })
    },
  },
  {
    name: 'volume-zone',
    arrange: (world) =>
      world.apply(
        pool('volume-zone', { requirements: [need(typeKey, small), need(zoneKey, 'westus2-2')] }),
        ...boundVolume('volume-zone', 'westus2-1'),
        pod('volume-zone', { claim: 'volume-zone' }),
      ),
    says: [/unschedulable \(volume\): NodePool "volume-zone": .*zone In \[westus2-1\] of volume "volume-zone"/],
    remedy:
      /let NodePool "volume-zone" allow (\S+) for topology.kubernetes.io\/zone .* where volume "volume-zone" can be attached/,
    apply: (world, [, zone = '']) =>
      requirePool(world, 'volume-zone', need(typeKey, small), need(zoneKey, 'westus2-2', zone)),
  },
]
