import type { Pod, RequirementSpec } from '../objects.ts'
import { podName } from '../pods/pod-rules.ts'
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../pods/related-objects.ts'
import { labels } from '../requirements/labels.ts'
import { requirements, sharedKeysIntersect } from '../requirements/requirements.ts'
import { emptyRecord, entryOf } from '../values/records.ts'
import type { PodVolumes, VolumesByDriver } from './snapshot.ts'
import type { VolumeProblem } from './unschedulable.ts'

type Alternative = readonly RequirementSpec[]
/** Result of a lookup that may find an object missing. */
type Found<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'missing'; readonly problem: VolumeProblem }

const inTreeDrivers: Readonly<Record<string, string>> = {
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/cinder': 'cinder.csi.openstack.org',
  'kubernetes.io/vsphere-volume': 'csi.vsphere.vmware.com',
  'kubernetes.io/portworx-volume': 'pxd.portworx.com',
}

const none: readonly string[] = []
const bindCompleted = 'pv.kubernetes.io/bind-completed'

export interface StorageObjects {
  readonly persistentVolumeClaims: readonly PersistentVolumeClaim[]
  readonly persistentVolumes: readonly PersistentVolume[]
  readonly storageClasses: readonly StorageClass[]
}

/** Resolves the volumes of pods and where they can be reached (reference/karpenter-core.md 3.10). */
export class Storage {
  readonly #claims: ReadonlyMap<string, PersistentVolumeClaim>
  readonly #volumes: ReadonlyMap<string, PersistentVolume>
  readonly #classes: ReadonlyMap<string, StorageClass>
  /** Ids of claims for one pod at a time. */
  readonly #oncePod: ReadonlySet<string>

  constructor({ persistentVolumeClaims, persistentVolumes, storageClasses }: StorageObjects) {
    this.#claims = new Map(persistentVolumeClaims.map((claim) => [claimId(claim), claim]))
    this.#volumes = new Map(persistentVolumes.map((volume) => [volume.metadata.name, volume]))
    this.#classes = new Map(storageClasses.map((one) => [one.metadata.name, one]))
    this.#oncePod = new Set(persistentVolumeClaims.filter(({ isOncePod }) => isOncePod).map(claimId))
  }

  /** Returns why a pod with these claims must not be placed at all; undefined when it can be tried. */
  invalid(pod: Pod): VolumeProblem | undefined {
    for (const name of pod.persistentVolumeClaims) {
      const claim = this.#claim(pod, name)
      const problem = claim.kind === 'missing' ? claim.problem : this.#invalidClaim(claim.value)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** Returns the requirements of a pod's volumes on its node; undefined for a pod without claims. */
  resolve(pod: Pod): PodVolumes | undefined {
    if (pod.persistentVolumeClaims.length === 0) return undefined
    const byDriver = this.#byDriver(pod)
    const alternatives = this.#alternatives(pod)
    return {
      byDriver: byDriver.kind === 'found' ? byDriver.value : {},
      alternatives: alternatives.kind === 'found' ? alternatives.value : [],
      ...(byDriver.kind === 'missing' ? { error: byDriver.problem } : {}),
      ...(alternatives.kind === 'missing' ? { lookupFailed: true } : {}),
    }
  }

  /** Returns the volumes in use by pods, as far as they are known. */
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

  /** Returns ids of the claims of a pod that no other pod may use at the same time. */
  oncePodClaims(pod: Pod): readonly string[] {
    if (this.#oncePod.size === 0 || pod.persistentVolumeClaims.length === 0) return none
    return pod.persistentVolumeClaims.map((name) => idOf(pod, name)).filter((id) => this.#oncePod.has(id))
  }

  #claim(pod: Pod, name: string): Found<PersistentVolumeClaim> {
    const value = this.#claims.get(idOf(pod, name))
    if (value !== undefined) return { kind: 'found', value }
    return { kind: 'missing', problem: { kind: 'claim-not-found', claim: name } }
  }

  #volume(name: string): Found<PersistentVolume> {
    const value = this.#volumes.get(name)
    return value === undefined
      ? { kind: 'missing', problem: { kind: 'volume-not-found', volume: name } }
      : { kind: 'found', value }
  }

  #invalidClaim(found: PersistentVolumeClaim): VolumeProblem | undefined {
    const claim = claimId(found)
    const { volumeName: volume = '', storageClassName: storageClass = '', metadata } = found
    if (metadata.deletionTimestamp !== undefined) return { kind: 'claim-deleting', claim }
    if (found.phase === 'Lost') return { kind: 'claim-lost', claim, volume }
    if (volume === '') return this.#invalidUnbound(claim, storageClass)
    const bound = this.#volume(volume)
    if (bound.kind === 'missing') return { kind: 'claim-volume-not-found', claim, volume, storageClass }
    if (bound.value.metadata.deletionTimestamp !== undefined)
      return { kind: 'claim-volume-deleting', claim, volume, storageClass }
    const isBound = metadata.annotations[bindCompleted] !== undefined
    return isBound ? undefined : { kind: 'claim-not-bound', claim: metadata.name, volume }
  }

  #invalidUnbound(claim: string, storageClass: string): VolumeProblem | undefined {
    if (storageClass === '') return { kind: 'claim-without-class', claim }
    const found = this.#classes.get(storageClass)
    if (found === undefined) return { kind: 'claim-class-not-found', claim, storageClass }
    return found.volumeBindingMode === 'Immediate' ? { kind: 'claim-class-immediate', claim, storageClass } : undefined
  }

  /** Missing claims use no volumes, nor do volumes without a CSI driver. */
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

  /** Returns every combination of the ways to reach each volume. Contradictory ones are included only if there is no other. */
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
      return { kind: 'missing', problem: { kind: 'class-not-found', storageClass: storageClassName } }
    }
    return { kind: 'found', value: classAlternatives(storageClass) }
  }
}

const idOf = ({ metadata }: Pod, claim: string) => `${metadata.namespace ?? 'default'}/${claim}`
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
