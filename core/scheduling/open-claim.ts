import type { InstanceType } from '../instance-type.ts'
import type { ContainerPort, Pod, Taint } from '../objects.ts'
import { unclaimable } from '../requirements/claim-requirements.ts'
import { labels } from '../requirements/labels.ts'
import { inValues, type Requirement } from '../requirements/requirement.ts'
import { incompatibility, isCompatible, merge, type Requirements } from '../requirements/requirements.ts'
import { mergeResources, minResources, noResources, type Resources } from '../resources.ts'
import { intolerance } from '../taints.ts'
import { entryOf } from '../values/records.ts'
import type { DaemonGroup } from './daemon-overhead.ts'
import type { Reservations } from './reservations.ts'
import type { VolumesByDriver } from './snapshot.ts'
import { structuredError } from './structured-error.ts'
import { type Trial, unionOfVolumes } from './trial.ts'
import { filterTypes } from './type-filter.ts'

/** Why a pod was not taken. The text is made when the pass is over: it shows the counts of that moment, as upstream. */
export interface Refusal {
  readonly explain: () => string
  /** The pod waits for a capacity reservation: neither other pools nor fewer wishes are tried for it. */
  readonly isDeferred?: boolean
}

export type TopologyAnswer =
  | { readonly kind: 'narrowed'; readonly requirements: Requirements }
  | { readonly kind: 'unsatisfiable'; readonly explain: () => string }

/** What a claim asks of topology, and tells it. */
export interface ClaimTopology {
  /** The node's requirements, the pod's own included, narrowed to what all rules about the pod allow. */
  narrow(pod: Pod, taints: readonly Taint[], podOwn: Requirements, node: Requirements): TopologyAnswer
  register(hostname: string): void
  record(pod: Pod, taints: readonly Taint[], node: Requirements): void
}

export interface ClaimSettings {
  readonly topology: ClaimTopology
  readonly reservations: Pick<Reservations, 'ask' | 'hold'>
  readonly wellKnown: ReadonlySet<string>
}

interface Fit {
  readonly requirements: Requirements
  readonly types: readonly InstanceType[]
  readonly requests: Resources
  readonly reservations: ReadonlySet<string>
}

/** What a claim needs to know of its pool. */
export interface ClaimPool {
  readonly taints: readonly Taint[]
  readonly requirements: Requirements
  readonly groups: readonly DaemonGroup[]
}

const refuse = (explain: () => string): Refusal => ({ explain })

/** A NodeClaim in the making: what its pods leave of a pool's instance types. */
export class OpenClaim<Pool extends ClaimPool = ClaimPool> {
  readonly pool: Pool
  readonly hostname: string
  readonly pods: Pod[] = []
  readonly #settings: ClaimSettings
  readonly #ports: ContainerPort[] = []
  #requirements: Requirements
  #types: readonly InstanceType[]
  #requests: Resources = noResources
  #volumes: VolumesByDriver = {}

  constructor(pool: Pool, hostname: string, types: readonly InstanceType[], settings: ClaimSettings) {
    this.pool = pool
    this.hostname = hostname
    this.#settings = settings
    this.#requirements = merge(pool.requirements, [inValues(labels.hostname, [hostname])])
    this.#types = types
  }

  get requirements(): Requirements {
    return this.#requirements
  }

  get types(): readonly InstanceType[] {
    return this.#types
  }

  /** Of its pods, and of the daemons that every type left would carry. */
  get requestsWithDaemons(): Resources {
    const left = new Set(this.#types)
    const alive = this.pool.groups.filter(({ types }) => types.some((type) => left.has(type)))
    return mergeResources(this.#requests, minResources(...alive.map(({ overhead }) => overhead)))
  }

  /** Adds the pod if a type is left that takes it with the others (reference/karpenter-core.md 3.5). Undefined: it was added. */
  add(trial: Trial, relaxMinValues = false): Refusal | undefined {
    const { pod } = trial
    const { wellKnown } = this.#settings
    const shunned = intolerance(this.pool.taints, pod.tolerations)
    if (shunned !== undefined) return refuse(() => shunned)
    const volumes = unionOfVolumes(this.#volumes, trial.volumes)
    const types = Object.keys(trial.volumes).length === 0 ? this.#types : attaching(this.#types, volumes)
    if (types.length === 0) return refuse(() => attachmentError(this.#types, volumes))
    const own = this.#requirements
    if (!isCompatible(own, trial.requirements, wellKnown)) {
      return refuse(() => `incompatible requirements, ${incompatibility(own, trial.requirements, wellKnown)}`)
    }
    const base = merge(own, trial.requirements.values())
    const problem = unclaimable(base)
    if (problem !== undefined) return refuse(() => problem)
    let refusal: Refusal | undefined
    for (const alternative of trial.alternatives) {
      const fit = this.#fit(trial, types, base, alternative, relaxMinValues)
      if (!('explain' in fit)) {
        this.#commit(pod, fit, volumes)
        return undefined
      }
      refusal = fit
    }
    return refusal
  }

  /** Whether the pod fits if its volumes are reached in this way. Topology comes last: it may settle on one of several domains. */
  #fit(
    { pod, strict }: Trial,
    types: readonly InstanceType[],
    base: Requirements,
    alternative: Requirements,
    relaxMinValues: boolean,
  ): Fit | Refusal {
    const { wellKnown, topology, reservations } = this.#settings
    if (!isCompatible(base, alternative, wellKnown)) {
      return refuse(() => `incompatible volume requirements, ${incompatibility(base, alternative, wellKnown)}`)
    }
    const withVolumes = merge(base, alternative.values())
    const problem = unclaimable(withVolumes)
    if (problem !== undefined) return refuse(() => `incompatible volume requirements, ${problem}`)
    const answer = topology.narrow(pod, this.pool.taints, strict, withVolumes)
    if (answer.kind === 'unsatisfiable') return refuse(answer.explain)
    if (!isCompatible(withVolumes, answer.requirements, wellKnown)) {
      return refuse(() => incompatibility(withVolumes, answer.requirements, wellKnown) ?? '')
    }
    const narrowed = merge(withVolumes, answer.requirements.values())
    const tooNarrow = unclaimable(narrowed)
    if (tooNarrow !== undefined) return refuse(() => tooNarrow)
    const requests = mergeResources(this.#requests, pod.requests)
    const filtered = filterTypes(types, {
      groups: this.pool.groups,
      requirements: narrowed,
      podRequests: pod.requests,
      requests,
      hostPorts: pod.hostPorts,
      usedPorts: this.#ports,
      relaxMinValues,
      wellKnown,
    })
    if (filtered.kind === 'none') return refuse(filtered.explain)
    const lowered = withMinValues(narrowed, filtered.lowered)
    const reserved = reservations.ask(this.hostname, filtered.types, lowered)
    if (reserved.kind === 'refused') return { explain: () => reserved.message, isDeferred: reserved.isDeferred }
    return { requirements: lowered, types: filtered.types, requests, reservations: reserved.ids }
  }

  #commit(pod: Pod, fit: Fit, volumes: VolumesByDriver): void {
    const { topology, reservations } = this.#settings
    this.pods.push(pod)
    this.#types = fit.types
    this.#requests = fit.requests
    this.#requirements = fit.requirements
    this.#volumes = volumes
    this.#ports.push(...pod.hostPorts)
    topology.register(this.hostname)
    topology.record(pod, this.pool.taints, fit.requirements)
    reservations.hold(this.hostname, fit.reservations)
  }
}

function withMinValues(sets: Requirements, lowered: ReadonlyMap<string, number>): Requirements {
  if (lowered.size === 0) return sets
  const changed = [...lowered].map(([key, minValues]): [string, Requirement] => [
    key,
    { ...(sets.get(key) as Requirement), minValues },
  ])
  return new Map([...sets, ...changed])
}

const hasRoom = ({ volumeAttachmentLimits }: InstanceType, driver: string, ids: readonly string[]) =>
  ids.length <= (entryOf(volumeAttachmentLimits, driver) ?? Number.POSITIVE_INFINITY)

function attaching(types: readonly InstanceType[], volumes: VolumesByDriver): readonly InstanceType[] {
  return types.filter((type) => Object.entries(volumes).every(([driver, ids]) => hasRoom(type, driver, ids)))
}

/** Names the driver if one alone rules out every type. */
function attachmentError(types: readonly InstanceType[], volumes: VolumesByDriver): string {
  const message = 'would exceed volume limit for all instance type options'
  for (const driver of Object.keys(volumes).sort()) {
    const ids = volumes[driver] ?? []
    if (types.some((type) => hasRoom(type, driver, ids))) continue
    const limit = Math.max(
      -1,
      ...types.map(({ volumeAttachmentLimits }) => entryOf(volumeAttachmentLimits, driver) ?? -1),
    )
    return structuredError(message, { provisioner: driver, 'volume-count': ids.length, 'volume-limit': limit })
  }
  return message
}
