import { allocatableGroups, type InstanceType, minValues, typeMatches } from '../instance-type.ts'
import type { ContainerPort } from '../objects.ts'
import { hostPortConflict } from '../pods/host-ports.ts'
import { describeAll, isCompatible, type Requirements } from '../requirements/requirements.ts'
import { fits, formatResources, maxResources, mergeResources, minResources, type Resources } from '../resources.ts'
import type { DaemonGroup } from './daemon-overhead.ts'

export interface TypeQuestion {
  readonly groups: readonly DaemonGroup[]
  readonly requirements: Requirements
  /** Of the one pod that is added: errors name them. */
  readonly podRequests: Resources
  /** Of all pods together. */
  readonly requests: Resources
  readonly hostPorts: readonly ContainerPort[]
  /** Host ports that pods of the claim hold already. */
  readonly usedPorts: readonly ContainerPort[]
  /** Whether types may be kept that are too few for minValues. */
  readonly relaxMinValues: boolean
  readonly wellKnown: ReadonlySet<string>
}

export type FilteredTypes =
  /** `lowered`: what minValues had to come down to, by key. */
  | { readonly kind: 'types'; readonly types: readonly InstanceType[]; readonly lowered: ReadonlyMap<string, number> }
  | { readonly kind: 'none'; readonly explain: () => string }

/** The types that can take a claim's pods, or why none can (reference/karpenter-core.md 3.5). */
export function filterTypes(types: readonly InstanceType[], question: TypeQuestion): FilteredTypes {
  const { requirements, relaxMinValues } = question
  const eligible = new Set(types)
  const groups = question.groups.filter(
    ({ hostPorts }) => hostPortConflict([...hostPorts, ...question.usedPorts], question.hostPorts) === undefined,
  )
  const judged = groups.flatMap((group) => {
    const total = mergeResources(question.requests, group.overhead)
    return group.types.filter((type) => eligible.has(type)).map((type) => judge(type, total, question))
  })
  const remaining = judged.filter(({ labels, fits: fit, offered }) => labels && fit && offered).map(({ type }) => type)
  const short = minValues(remaining, requirements).unsatisfied
  if (remaining.length > 0 && (short.size === 0 || relaxMinValues)) {
    return { kind: 'types', types: remaining, lowered: short }
  }
  const resources = () => describeRequests(groups, question.podRequests)
  return {
    kind: 'none',
    explain: () => {
      const reason =
        short.size > 0
          ? `minValues requirement is not met for label(s) (label(s)=[${[...short.keys()].sort().join(' ')}])`
          : reasonOf(judged)
      const hint = reason === noResourcesReason ? cpuHint(question.podRequests) : ''
      return `${reason}, requirements=${describeAll(requirements)}, resources=${resources()}${hint}`
    },
  }
}

interface Judgement {
  readonly type: InstanceType
  readonly labels: boolean
  readonly fits: boolean
  readonly offered: boolean
}

/** Resources only count where there is an offering: a type that cannot be had is not said to be large enough. */
function judge(type: InstanceType, total: Resources, { requirements, wellKnown }: TypeQuestion): Judgement {
  const offering = allocatableGroups(type).filter(({ offerings }) =>
    offerings.some((one) => isCompatible(requirements, one.requirements, wellKnown)),
  )
  return {
    type,
    labels: typeMatches(type, requirements),
    fits: offering.some(({ allocatable }) => fits(total, allocatable)),
    offered: offering.length > 0,
  }
}

const noResourcesReason = 'no instance type has enough resources'

function reasonOf(judged: readonly Judgement[]): string {
  const labels = judged.some((one) => one.labels)
  const fit = judged.some((one) => one.fits)
  const offered = judged.some((one) => one.offered)
  const unmet = [
    ...(labels ? [] : ['met the scheduling requirements']),
    ...(fit ? [] : ['had enough resources']),
    ...(offered ? [] : ['had a required offering']),
  ]
  if (unmet.length > 1) return `no instance type ${unmet.join(' or ')}`
  if (!labels) return 'no instance type met all requirements'
  if (!fit) return noResourcesReason
  if (!offered) return 'no instance type has the required offering'
  return pairReason(judged)
}

/** Each criterion is met by some type, but no type meets all. */
function pairReason(judged: readonly Judgement[]): string {
  if (judged.some((one) => one.labels && one.fits)) {
    return 'no instance type which met the scheduling requirements and had enough resources, had a required offering'
  }
  if (judged.some((one) => one.fits && one.offered)) {
    return 'no instance type which had enough resources and the required offering met the scheduling requirements'
  }
  return 'no instance type which met the scheduling requirements and the required offering had the required resources'
}

const millionUnits = 1_000_000n * 1_000_000_000n

function cpuHint(requests: Resources): string {
  return (requests['cpu']?.nano ?? 0n) >= millionUnits ? ' (CPU request >= 1 Million, m vs M typo?)' : ''
}

/** What was asked for, daemons included; their least and most where they differ between types. */
function describeRequests(groups: readonly DaemonGroup[], requests: Resources): string {
  const overheads = groups.map(({ overhead }) => overhead).filter((overhead) => Object.keys(overhead).length > 0)
  if (overheads.length === 0) return describeResources(requests)
  const least = describeResources(mergeResources(minResources(...overheads), requests))
  const most = describeResources(mergeResources(maxResources(...overheads), requests))
  return least === most ? least : `min=${least}, max=${most}`
}

function describeResources(amounts: Resources): string {
  const sorted = Object.entries(formatResources(amounts)).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(Object.fromEntries(sorted))
}
