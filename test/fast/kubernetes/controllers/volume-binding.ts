import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { ApiServer } from '../api/api-server.ts'
import { metaOf, type ObjectStore } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { specOf, statusOf } from './seen.ts'

interface VolumeSpec {
  readonly storageClassName?: string
  readonly claimRef?: { readonly name: string; readonly namespace?: string; readonly uid?: string }
}

interface ClaimSpec {
  readonly storageClassName?: string
  readonly volumeName?: string
}

export const claimPathOf = (claim: Json) =>
  pathOf('persistentvolumeclaims', metaOf(claim).name, metaOf(claim).namespace ?? 'default')

/** Binds volumes to the claims that they are for, and claims that do not wait for a pod to any volume of their class. */
export function volumeBinding(server: ApiServer): Controller {
  return {
    watches: ['persistentvolumeclaims', 'persistentvolumes', 'storageclasses'],
    afterMs: 1,
    reconcile: () => {
      for (const claim of server.objects.of('persistentvolumeclaims')) {
        if (statusOf(claim)['phase'] === 'Bound') continue
        const { volumeName } = specOf(claim) as ClaimSpec
        const volumes = server.objects.of('persistentvolumes')
        const meant = volumes.find((volume) => metaOf(volume).name === volumeName || isFor(volume, claim))
        const volume = meant ?? (waits(server.objects, claim) ? undefined : freeVolumes(server.objects, claim)[0])
        if (volume !== undefined) bindVolume(server, claim, volume)
      }
      return undefined
    },
  }
}

function isFor(volume: Json, claim: Json): boolean {
  const { claimRef } = specOf(volume) as VolumeSpec
  const { name, namespace = 'default' } = metaOf(claim)
  return claimRef?.name === name && (claimRef.namespace ?? 'default') === namespace
}

export function classOf(objects: ObjectStore, claim: Json): Json | undefined {
  const { storageClassName = '' } = specOf(claim) as ClaimSpec
  return objects.find(pathOf('storageclasses', storageClassName))
}

/** Whether a claim's volume follows from the node of its first pod. */
export const waits = (objects: ObjectStore, claim: Json) =>
  classOf(objects, claim)?.['volumeBindingMode'] === 'WaitForFirstConsumer'

/** Volumes of a claim's class that are for no other. */
export function freeVolumes(objects: ObjectStore, claim: Json): readonly Json[] {
  const { storageClassName = '' } = specOf(claim) as ClaimSpec
  return objects.of('persistentvolumes').filter((volume) => {
    const { storageClassName: own = '', claimRef } = specOf(volume) as VolumeSpec
    return own === storageClassName && (claimRef === undefined || isFor(volume, claim))
  })
}

export function bindVolume(server: ApiServer, claim: Json, volume: Json): void {
  const { name, namespace, uid } = metaOf(claim)
  const volumeName = metaOf(volume).name
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid }
  server.change(pathOf('persistentvolumes', volumeName), undefined, (object) => ({
    ...object,
    spec: { ...specOf(object), claimRef },
    status: { phase: 'Bound' },
  }))
  server.change(claimPathOf(claim), undefined, (object) => ({
    ...object,
    metadata: {
      ...metaOf(object),
      annotations: { ...metaOf(object).annotations, 'pv.kubernetes.io/bind-completed': 'yes' },
    },
    spec: { ...specOf(object), volumeName },
    status: { ...statusOf(object), phase: 'Bound' },
  }))
}
