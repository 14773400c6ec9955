import type { InstanceType } from '../instance-type.ts'
import type { ContainerPort, Pod, Taint } from '../objects.ts'
import { unclaimable } from '../requirements/claim-requirements.ts'
import { labels } from '../requirements/labels.ts'
import { inValues, type Requirement } from '../requirements/requirement.ts'
import { incompatibility, isCompatible, merge, type Requirements } from '../requirements/requirements.ts'
import { mergeResources, noResources, type Resources } from '../resources.ts'
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

/** What a claim asks of topology: the node's requirements, the pod's own included, narrowed to what all rules about the pod allow. */
export interface ClaimTopology {
  narrow(pod: Pod, taints: readonly Taint[], wanted: NarrowedRequirements): TopologyAnswer
}

export interface ClaimSettings {
  readonly topology: ClaimTopology
  readonly reservations: Pick<Reservations, 'ask'>
  readonly wellKnown: ReadonlySet<string>
  readonly relaxMinValues: boolean
}

/** A NodeClaim in the making: what its pool and the pods on it leave. */
export interface OpenClaim {
  readonly hostname: string
  readonly taints: readonly Taint[]
  readonly groups: readonly DaemonGroup[]
  readonly requirements: Requirements
  readonly types: readonly InstanceType[]
  /** Of its pods. */
  readonly requests: Resources
  readonly ports: readonly ContainerPort[]
  readonly volumes: VolumesByDriver
}

/** What a claim becomes with one more pod. */
interface Fit extends Pick<OpenClaim, 'requirements' | 'types' | 'requests' | 'volumes'> {
  readonly reservations: ReadonlySet<string>
}

const refuse = (cause: () => PoolRefusal): Refusal => ({ cause })

/** Returns a claim without pods. `requirements`: its pool's. */
export function newClaim({
  hostname,
  requirements,
  ...pool
}: Pick<OpenClaim, 'hostname' | 'taints' | 'groups' | 'requirements' | 'types'>): OpenClaim {
  const own = merge(requirements, [inValues(labels.hostname, [hostname])])
  return { ...pool, hostname, requirements: own, requests: noResources, ports: [], volumes: {} }
}

/** Returns what the claim becomes if a remaining type takes the pod with the others (reference/karpenter-core.md 3.5), else why none does. */
export function fitOf(claim: OpenClaim, trial: Trial, settings: ClaimSettings): Fit | Refusal {
  const { wellKnown } = settings
  const taints = untolerated(claim.taints, trial.pod.tolerations)
  if (taints.length > 0) return refuse(() => ({ kind: 'taints', taints }))
  const volumes = unionOfVolumes(claim.volumes, trial.volumes)
  const types = Object.keys(trial.volumes).length === 0 ? claim.types : attaching(claim.types, volumes)
  if (types.length === 0) return refuse(() => attachmentRefusal(claim.types, volumes))
  const own = claim.requirements
  if (!isCompatible(own, trial.requirements, wellKnown))
    return refuse(() => incompatible('pod', { own, wanted: trial.requirements, wellKnown }))
  const base = merge(own, trial.requirements.values())
  const problem = unclaimable(base)
  if (problem !== undefined) return refuse(() => ({ kind: 'unclaimable', by: 'pod', problem }))
  const admitted = { ...claim, types, requirements: base, volumes }
  let found: Fit | Refusal = refuse(() => ({ kind: 'not-tried-again' }))
  for (const alternative of trial.alternatives) {
    found = fitWith(admitted, { ...trial, alternative }, settings)
    if (!('cause' in found)) break
  }
  return found
}

/** As `fitOf`, with one alternative of the pod's volumes. Topology comes last: it may choose one of several domains. */
function fitWith(
  admitted: OpenClaim,
  { pod, strict, alternative }: Pick<Trial, 'pod' | 'strict'> & { readonly alternative: Requirements },
  { topology, reservations, wellKnown, relaxMinValues }: ClaimSettings,
): Fit | Refusal {
  const { hostname, taints, groups, types, volumes, requirements: base } = admitted
  if (!isCompatible(base, alternative, wellKnown))
    return refuse(() => incompatible('volumes', { own: base, wanted: alternative, wellKnown }))
  const withVolumes = merge(base, alternative.values())
  const problem = unclaimable(withVolumes)
  if (problem !== undefined) return refuse(() => ({ kind: 'unclaimable', by: 'volumes', problem }))
  const answer = topology.narrow(pod, taints, { pod: strict, node: withVolumes })
  if (answer.kind === 'unsatisfiable') return refuse(answer.cause)
  if (!isCompatible(withVolumes, answer.requirements, wellKnown))
    return refuse(() => incompatible('topology', { own: withVolumes, wanted: answer.requirements, wellKnown }))
  const narrowed = merge(withVolumes, answer.requirements.values())
  const tooNarrow = unclaimable(narrowed)
  if (tooNarrow !== undefined) return refuse(() => ({ kind: 'unclaimable', by: 'topology', problem: tooNarrow }))
  const requests = mergeResources(admitted.requests, pod.requests)
  const filtered = filterTypes(types, {
    groups,
    requirements: narrowed,
    podRequests: pod.requests,
    requests,
    hostPorts: pod.hostPorts,
    usedPorts: admitted.ports,
    relaxMinValues,
    wellKnown,
  })
  if (filtered.kind === 'none') return refuse(filtered.cause)
  const lowered = withMinValues(narrowed, filtered.lowered)
  const reserved = reservations.ask(hostname, filtered.types, lowered)
  if (reserved.kind === 'refused')
    return { cause: () => ({ kind: 'reservation', problem: reserved.problem }), isDeferred: reserved.isDeferred }
  return { requirements: lowered, types: filtered.types, requests, volumes, reservations: reserved.ids }
}

interface Pair {
  readonly own: Requirements
  readonly wanted: Requirements
  readonly wellKnown: ReadonlySet<string>
}

/** `own` cannot meet `wanted`. */
function incompatible(by: 'pod' | 'volumes' | 'topology', { own, wanted, wellKnown }: Pair): PoolRefusal {
  return {
    kind: 'incompatible',
    by,
    problem: incompatibility(own, wanted, wellKnown) ?? { kind: 'disjoint', pairs: [] },
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
