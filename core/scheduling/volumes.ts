import type { Pod, RequirementSpec } from '../objects.ts'
import { podName } from '../pods/pod-rules.ts'
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../pods/related-objects.ts'
import { labels } from '../requirements/labels.ts'
import { requirements, sharedKeysIntersect } from '../requirements/requirements.ts'
import { emptyRecord, entryOf } from '../values/records.ts'
import type { PodVolumes, VolumesByDriver } from './snapshot.ts'
import { structuredError } from './structured-error.ts'

type Alternative = readonly RequirementSpec[]
/** The outcome of a lookup that may find that something is missing. */
type Found<T> = { readonly kind: 'found'; readonly value: T } | { readonly kind: 'missing'; readonly message: string }

const inTreeDrivers: Readonly<Record<string, string>> = {
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/cinder': 'cinder.csi.openstack.org',
  'kubernetes.io/vsphere-volume': 'csi.vsphere.vmware.com',
  'kubernetes.io/portworx-volume': 'pxd.portworx.com',
}

const bindCompleted = 'pv.kubernetes.io/bind-completed'

export interface StorageObjects {
  readonly persistentVolumeClaims: readonly PersistentVolumeClaim[]
  readonly persistentVolumes: readonly PersistentVolume[]
  readonly storageClasses: readonly StorageClass[]
}

/** Answers what the volumes of pods are and where they can be reached (reference/karpenter-core.md 3.10). */
export class Storage {
  readonly #claims: ReadonlyMap<string, PersistentVolumeClaim>
  readonly #volumes: ReadonlyMap<string, PersistentVolume>
  readonly #classes: ReadonlyMap<string, StorageClass>

  constructor({ persistentVolumeClaims, persistentVolumes, storageClasses }: StorageObjects) {
    this.#claims = new Map(persistentVolumeClaims.map((claim) => [claimId(claim), claim]))
    this.#volumes = new Map(persistentVolumes.map((volume) => [volume.metadata.name, volume]))
    this.#classes = new Map(storageClasses.map((one) => [one.metadata.name, one]))
  }

  /** Why a pod with these claims is not to be placed at all; undefined when it can be tried. */
  invalid(pod: Pod): string | undefined {
    for (const name of pod.persistentVolumeClaims) {
      const claim = this.#claim(pod, name)
      const reason = claim.kind === 'missing' ? claim.message : this.#invalidClaim(claim.value)
      if (reason !== undefined) return reason
    }
    return undefined
  }

  /** What a pod's volumes ask of its node; undefined for a pod without claims. */
  resolve(pod: Pod): PodVolumes | undefined {
    if (pod.persistentVolumeClaims.length === 0) return undefined
    const byDriver = this.#byDriver(pod)
    const alternatives = this.#alternatives(pod)
    return {
      byDriver: byDriver.kind === 'found' ? byDriver.value : {},
      alternatives: alternatives.kind === 'found' ? alternatives.value : [],
      ...(byDriver.kind === 'missing' ? { error: byDriver.message } : {}),
      ...(alternatives.kind === 'missing' ? { lookupFailed: true } : {}),
    }
  }

  /** The volumes in use by pods, as far as they are known. */
  inUse(pods: readonly Pod[]): VolumesByDriver {
    const result = emptyRecord<Set<string>>()
    for (const pod of pods) {
      const found = this.#byDriver(pod)
      if (found.kind === 'missing') continue
      for (const [driver, ids] of Object.entries(found.value)) {
        const known = (result[driver] ??= new Set())
        for (const id of ids) known.add(id)
      }
    }
    return Object.fromEntries(Object.entries(result).map(([driver, ids]) => [driver, [...ids]]))
  }

  #claim(pod: Pod, name: string): Found<PersistentVolumeClaim> {
    const value = this.#claims.get(`${pod.metadata.namespace ?? 'default'}/${name}`)
    if (value !== undefined) return { kind: 'found', value }
    const message = `getting persistent volume claim, persistentvolumeclaims "${name}" not found`
    return { kind: 'missing', message: structuredError(message, { PersistentVolumeClaim: name }) }
  }

  #volume(name: string): Found<PersistentVolume> {
    const value = this.#volumes.get(name)
    return value === undefined
      ? { kind: 'missing', message: `persistentvolumes "${name}" not found` }
      : { kind: 'found', value }
  }

  #invalidClaim(claim: PersistentVolumeClaim): string | undefined {
    const about = { PersistentVolumeClaim: claimId(claim) }
    const { volumeName = '', storageClassName = '', metadata } = claim
    if (metadata.deletionTimestamp !== undefined)
      return structuredError('persistentvolumeclaim is being deleted', about)
    if (claim.phase === 'Lost') {
      const lost = 'persistentvolumeclaim bound to non-existent persistentvolume'
      return structuredError(lost, { ...about, PersistentVolume: volumeName })
    }
    if (volumeName === '') return this.#invalidUnbound(claim)
    const volume = this.#volume(volumeName)
    const problem =
      volume.kind === 'missing'
        ? volume.message
        : volume.value.metadata.deletionTimestamp === undefined
          ? undefined
          : 'persistentvolume is being deleted'
    if (problem !== undefined) {
      const details = { ...about, PersistentVolume: volumeName, StorageClass: storageClassName }
      return structuredError(`failed to validate pvc, ${problem}`, details)
    }
    if (metadata.annotations[bindCompleted] !== undefined) return undefined
    return structuredError('pvc is considered unbound because it does not contain annotation', {
      annotation: bindCompleted,
      PersistentVolume: volumeName,
      PersistentVolumeClaim: metadata.name,
    })
  }

  #invalidUnbound(claim: PersistentVolumeClaim): string | undefined {
    const { storageClassName = '' } = claim
    const details = { PersistentVolumeClaim: claimId(claim), StorageClass: storageClassName }
    if (storageClassName === '') return structuredError('unbound pvc must define a storage class', details)
    const storageClass = this.#classes.get(storageClassName)
    if (storageClass === undefined) {
      const missing = `storageclasses.storage.k8s.io "${storageClassName}" not found`
      return structuredError(`failed to validate pvc, failed to get storage class, ${missing}`, details)
    }
    if (storageClass.volumeBindingMode !== 'Immediate') return undefined
    return structuredError('failed to validate pvc, pvc with immediate volume binding mode must be bound', details)
  }

  /** Claims that are gone take up nothing, nor do volumes that no CSI driver serves. */
  #byDriver(pod: Pod): Found<VolumesByDriver> {
    const result = emptyRecord<string[]>()
    for (const name of pod.persistentVolumeClaims) {
      const claim = this.#claim(pod, name)
      if (claim.kind === 'missing') continue
      const driver = this.#driver(claim.value)
      if (driver.kind === 'missing') return driver
      const id = claimId(claim.value)
      if (driver.value !== '' && !result[driver.value]?.includes(id)) (result[driver.value] ??= []).push(id)
    }
    return { kind: 'found', value: result }
  }

  #driver({ volumeName, storageClassName }: PersistentVolumeClaim): Found<string> {
    if (volumeName !== undefined) {
      const volume = this.#volume(volumeName)
      return volume.kind === 'missing' ? volume : { kind: 'found', value: volume.value.driver ?? '' }
    }
    const provisioner = this.#classes.get(storageClassName ?? '')?.provisioner ?? ''
    return { kind: 'found', value: entryOf(inTreeDrivers, provisioner) ?? provisioner }
  }

  /** Every combination of the ways to reach each volume; those that contradict themselves only where there is no other. */
  #alternatives(pod: Pod): Found<readonly Alternative[]> {
    let combined: readonly Alternative[] = [[]]
    let isConstrained = false
    for (const name of pod.persistentVolumeClaims) {
      const claim = this.#claim(pod, name)
      if (claim.kind === 'missing') return claim
      const own = this.#claimAlternatives(claim.value)
      if (own.kind === 'missing') return own
      if (own.value.length === 0) continue
      isConstrained = true
      const pairs = combined.flatMap((before) => own.value.map((added) => [before, added] as const))
      const agreeing = pairs.filter(([a, b]) => sharedKeysIntersect(requirements(a), requirements(b)))
      combined = (agreeing.length > 0 ? agreeing : pairs).map(([a, b]) => [...a, ...b])
    }
    return { kind: 'found', value: isConstrained ? combined : [] }
  }

  #claimAlternatives({ volumeName, storageClassName }: PersistentVolumeClaim): Found<readonly Alternative[]> {
    if (volumeName !== undefined) {
      const volume = this.#volume(volumeName)
      return volume.kind === 'missing' ? volume : { kind: 'found', value: volumeAlternatives(volume.value) }
    }
    if (storageClassName === undefined) return { kind: 'found', value: [] }
    const storageClass = this.#classes.get(storageClassName)
    if (storageClass === undefined) {
      return { kind: 'missing', message: `storageclasses.storage.k8s.io "${storageClassName}" not found` }
    }
    return { kind: 'found', value: classAlternatives(storageClass) }
  }
}

const claimId = ({ metadata }: PersistentVolumeClaim) => podName({ metadata })

function volumeAlternatives({ nodeSelectorTerms, isLocal }: PersistentVolume): readonly Alternative[] {
  return nodeSelectorTerms.flatMap(({ matchExpressions = [] }) => {
    if (matchExpressions.length === 0) return []
    return [isLocal ? matchExpressions.filter(({ key }) => key !== labels.hostname) : matchExpressions]
  })
}

function classAlternatives({ allowedTopologies }: StorageClass): readonly Alternative[] {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.length === 0
      ? []
      : [matchLabelExpressions.map(({ key, values }) => ({ key, operator: 'In' as const, values }))],
  )
}
