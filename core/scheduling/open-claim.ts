import type { InstanceType } from '../instance-type.ts'
import type { ContainerPort, Pod, Taint } from '../objects.ts'
import { unclaimable } from '../requirements/claim-requirements.ts'
import { labels } from '../requirements/labels.ts'
import { inValues, type Requirement } from '../requirements/requirement.ts'
import { incompatibility, isCompatible, merge, type Requirements } from '../requirements/requirements.ts'
import { mergeResources, minResources, noResources, type Resources } from '../resources.ts'
import { untolerated } from '../taints.ts'
import { entryOf } from '../values/records.ts'
import type { DaemonGroup } from './daemon-overhead.ts'
import type { Reservations } from './reservations.ts'
import type { VolumesByDriver } from './snapshot.ts'
import { type Trial, unionOfVolumes } from './trial.ts'
import { filterTypes } from './type-filter.ts'
import type { PoolRefusal, TopologyRefusal } from './unschedulable.ts'

/** Why a pod was refused. The cause is made when the pass is over: as upstream, it shows the counts of that moment. */
export interface Refusal {
  readonly cause: () => PoolRefusal
  /** The pod waits for a capacity reservation: neither other pools nor fewer preferences are tried for it. */
  readonly isDeferred?: boolean
}

export type TopologyAnswer =
  | { readonly kind: 'narrowed'; readonly requirements: Requirements }
  | { readonly kind: 'unsatisfiable'; readonly cause: () => TopologyRefusal }

interface NarrowedRequirements {
  /** The pod's own strict requirements. */
  readonly pod: Requirements
  readonly node: Requirements
}

/** Topology as a claim queries and updates it. */
export interface ClaimTopology {
  /** Returns the node's requirements, the pod's own included, narrowed to what all rules about the pod allow. */
  narrow(pod: Pod, taints: readonly Taint[], wanted: NarrowedRequirements): TopologyAnswer
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

/** A pod that the claim's taints, labels and volume limits admit. */
interface Admitted {
  readonly types: readonly InstanceType[]
  /** The claim's requirements with the pod's. */
  readonly base: Requirements
  readonly relaxMinValues: boolean
}

/** The pool's properties that a claim needs. */
export interface ClaimPool {
  readonly taints: readonly Taint[]
  readonly requirements: Requirements
  readonly groups: readonly DaemonGroup[]
}

const refuse = (cause: () => PoolRefusal): Refusal => ({ cause })

/** A claim without pods. */
interface NewClaim {
  readonly hostname: string
  readonly types: readonly InstanceType[]
}

/** A NodeClaim in the making: the instance types of a pool that its pods leave. */
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

  constructor(pool: Pool, { hostname, types }: NewClaim, settings: ClaimSettings) {
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

  /** Returns requests of its pods, and of the daemons that every remaining type would carry. */
  get requestsWithDaemons(): Resources {
    const left = new Set(this.#types)
    const alive = this.pool.groups.filter(({ types }) => types.some((type) => left.has(type)))
    return mergeResources(this.#requests, minResources(...alive.map(({ overhead }) => overhead)))
  }

  /** Adds the pod if a remaining type takes it with the others (reference/karpenter-core.md 3.5). Returns undefined when it was added. */
  add(trial: Trial, relaxMinValues = false): Refusal | undefined {
    const { pod } = trial
    const { wellKnown } = this.#settings
    const taints = untolerated(this.pool.taints, pod.tolerations)
    if (taints.length > 0) return refuse(() => ({ kind: 'taints', taints }))
    const volumes = unionOfVolumes(this.#volumes, trial.volumes)
    const types = Object.keys(trial.volumes).length === 0 ? this.#types : attaching(this.#types, volumes)
    if (types.length === 0) return refuse(() => attachmentRefusal(this.#types, volumes))
    const own = this.#requirements
    if (!isCompatible(own, trial.requirements, wellKnown))
      return refuse(() => this.#incompatible('pod', own, trial.requirements))
    const base = merge(own, trial.requirements.values())
    const problem = unclaimable(base)
    if (problem !== undefined) return refuse(() => ({ kind: 'unclaimable', by: 'pod', problem }))
    let refusal: Refusal | undefined
    for (const alternative of trial.alternatives) {
      const fit = this.#fit(trial, alternative, { types, base, relaxMinValues })
      if (!('cause' in fit)) {
        this.#commit(pod, fit, volumes)
        return undefined
      }
      refusal = fit
    }
    return refusal
  }

  /** Whether the pod fits with this alternative of its volumes. Topology comes last: it may choose one of several domains. */
  #fit({ pod, strict }: Trial, alternative: Requirements, { types, base, relaxMinValues }: Admitted): Fit | Refusal {
    const { wellKnown, topology, reservations } = this.#settings
    if (!isCompatible(base, alternative, wellKnown))
      return refuse(() => this.#incompatible('volumes', base, alternative))
    const withVolumes = merge(base, alternative.values())
    const problem = unclaimable(withVolumes)
    if (problem !== undefined) return refuse(() => ({ kind: 'unclaimable', by: 'volumes', problem }))
    const answer = topology.narrow(pod, this.pool.taints, { pod: strict, node: withVolumes })
    if (answer.kind === 'unsatisfiable') return refuse(answer.cause)
    if (!isCompatible(withVolumes, answer.requirements, wellKnown))
      return refuse(() => this.#incompatible('topology', withVolumes, answer.requirements))
    const narrowed = merge(withVolumes, answer.requirements.values())
    const tooNarrow = unclaimable(narrowed)
    if (tooNarrow !== undefined) return refuse(() => ({ kind: 'unclaimable', by: 'topology', problem: tooNarrow }))
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
    if (filtered.kind === 'none') return refuse(filtered.cause)
    const lowered = withMinValues(narrowed, filtered.lowered)
    const reserved = reservations.ask(this.hostname, filtered.types, lowered)
    if (reserved.kind === 'refused')
      return { cause: () => ({ kind: 'reservation', problem: reserved.problem }), isDeferred: reserved.isDeferred }
    return { requirements: lowered, types: filtered.types, requests, reservations: reserved.ids }
  }

  /** `own` cannot meet `wanted`. */
  #incompatible(by: 'pod' | 'volumes' | 'topology', own: Requirements, wanted: Requirements): PoolRefusal {
    const problem = incompatibility(own, wanted, this.#settings.wellKnown) ?? { kind: 'disjoint', pairs: [] }
    return { kind: 'incompatible', by, problem }
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
function attachmentRefusal(types: readonly InstanceType[], volumes: VolumesByDriver): PoolRefusal {
  for (const name of Object.keys(volumes).sort()) {
    const ids = volumes[name] ?? []
    if (types.some((type) => hasRoom(type, name, ids))) continue
    const limit = Math.max(
      -1,
      ...types.map(({ volumeAttachmentLimits }) => entryOf(volumeAttachmentLimits, name) ?? -1),
    )
    return { kind: 'volume-limit', driver: { name, volumes: ids.length, limit } }
  }
  return { kind: 'volume-limit' }
}
