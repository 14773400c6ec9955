import type { Pod, Toleration } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import type { Requirement } from '../../requirements/requirement.ts'
import { hasPreferredNodeAffinity, podRequirements, type Requirements } from '../../requirements/requirements.ts'
import type { Resources } from '../../resources.ts'
import { type RequirementSet, type RequirementSets, withoutHostname } from '../offerings/requirement-sets.ts'
import { relax } from '../relaxation.ts'
import type { RepellingPod, StatingPod } from '../topology/concern.ts'
import type { LabelFacts } from '../topology/label-facts.ts'

/** Facts about a pod alone as it is tried, with all its preferences or with some given up. */
export interface LevelFacts extends StatingPod {
  readonly wanted: RequirementSet
  /** Requirements on the hostname, which no set holds. */
  readonly wantedHost: Requirement | undefined
  /** Requirements that narrow the topology domains counted for the pod, without preferences. */
  readonly strict: Requirements
  readonly facet: FacetFacts
  readonly labels: LabelFacts
}

/** Nodes by their numbers in the order of attempts. */
export interface Candidates {
  /** Returns the candidate's number at an index; undefined beyond the end. */
  at(index: number): number | undefined
}

/** Tolerations and requirements: with the place they decide a final refusal. */
export interface FacetFacts {
  readonly tolerations: readonly Toleration[]
  readonly wanted: RequirementSet
  /** Whether the taints of a list are tolerated, by the list's number. */
  readonly tolerated: (boolean | undefined)[]
  /** Nodes that may take a pod, by what it requests. */
  readonly candidates: Map<RequestFacts, Candidates>
}

/** Requests of pods, each amount once. */
export interface RequestFacts {
  readonly number: number
  readonly requests: Resources
  readonly vector: Float64Array
}

/** Pods with the same constraints, whatever they request. */
export interface ShapeFacts extends RepellingPod {
  readonly levels: LevelFacts[]
  /** Whether the last level has no more preferences to give up. */
  complete: boolean
}

export interface LevelMaker {
  readonly sets: RequirementSets
  readonly respectsPreferences: boolean
  readonly toleratePreferNoSchedule: boolean
  readonly facet: (tolerations: readonly Toleration[], wanted: RequirementSet) => FacetFacts
  readonly labels: (pod: Pod) => LabelFacts
}

/** Returns the shape's level of a number, made at the first request; undefined when all preferences are given up before. */
export function levelFacts(shape: ShapeFacts, number: number, maker: LevelMaker): LevelFacts | undefined {
  const known = shape.levels[number]
  if (known !== undefined || shape.complete) return known
  const before = shape.levels[number - 1]
  const pod = before === undefined ? shape.pod : relax(before.pod, maker.toleratePreferNoSchedule)
  if (pod === undefined) {
    shape.complete = true
    return undefined
  }
  const level = makeLevel(pod, shape.pod, maker)
  shape.levels.push(level)
  return level
}

function makeLevel(
  pod: Pod,
  whole: Pod,
  { sets, respectsPreferences, facet, labels: labelsOf }: LevelMaker,
): LevelFacts {
  const all = podRequirements(pod, { strict: !respectsPreferences })
  const strict = hasPreferredNodeAffinity(pod) ? podRequirements(pod, { strict: true }) : all
  const wanted = sets.intern(withoutHostname(all))
  return {
    pod,
    whole,
    wanted,
    wantedHost: all.get(labels.hostname),
    strict,
    facet: facet(pod.tolerations, wanted),
    labels: labelsOf(pod),
    rules: undefined,
  }
}
