import { allocatableGroups, type InstanceType, minValues, typeMatches } from '../instance-type.ts'
import type { ContainerPort } from '../objects.ts'
import { hostPortConflict } from '../pods/host-ports.ts'
import { isCompatible, type Requirements } from '../requirements/requirements.ts'
import { fits, mergeResources, type Resources } from '../resources.ts'
import type { DaemonGroup } from './daemon-overhead.ts'
import type { PoolRefusal, TypeCriterion, TypeProblem } from './unschedulable.ts'

export interface TypeQuestion {
  readonly groups: readonly DaemonGroup[]
  readonly requirements: Requirements
  /** Requests of the pod that is added: errors name them. */
  readonly podRequests: Resources
  /** Of all pods together. */
  readonly requests: Resources
  readonly hostPorts: readonly ContainerPort[]
  /** Host ports that pods of the claim hold already. */
  readonly usedPorts: readonly ContainerPort[]
  /** Whether fewer types than minValues requires may remain. */
  readonly relaxMinValues: boolean
  readonly wellKnown: ReadonlySet<string>
}

export type FilteredTypes =
  /** `lowered`: reduced minValues, by key. */
  | { readonly kind: 'types'; readonly types: readonly InstanceType[]; readonly lowered: ReadonlyMap<string, number> }
  | { readonly kind: 'none'; readonly cause: () => PoolRefusal }

/** Returns the types that can take a claim's pods, or why none can (reference/karpenter-core.md 3.5). */
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
  return {
    kind: 'none',
    cause: () => ({
      kind: 'types',
      problem: short.size > 0 ? { kind: 'min-values', labels: [...short.keys()].sort() } : problemOf(judged),
      requirements,
      requests: question.podRequests,
      overheads: groups.map(({ overhead }) => overhead),
    }),
  }
}

interface Judgement {
  readonly type: InstanceType
  readonly labels: boolean
  readonly fits: boolean
  readonly offered: boolean
}

/** Resources only count with an offering: an unavailable type is not reported as large enough. */
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

function problemOf(judged: readonly Judgement[]): TypeProblem {
  const criteria: readonly TypeCriterion[] = [
    ...(judged.some((one) => one.labels) ? [] : ['requirements' as const]),
    ...(judged.some((one) => one.fits) ? [] : ['resources' as const]),
    ...(judged.some((one) => one.offered) ? [] : ['offering' as const]),
  ]
  if (criteria.length > 0) return { kind: 'unmet', criteria }
  if (judged.some((one) => one.labels && one.fits)) return { kind: 'not-together', lacking: 'offering' }
  if (judged.some((one) => one.fits && one.offered)) return { kind: 'not-together', lacking: 'requirements' }
  return { kind: 'not-together', lacking: 'resources' }
}
