import type { Pod } from '../../objects.ts'
import type { Requirement } from '../../requirements/requirement.ts'
import type { Requirements } from '../../requirements/requirements.ts'
import type { LabelFacts } from './label-facts.ts'
import type { StatedRule } from './stated-rule.ts'
import type { Choice, TopologyGroup } from './topology-group.ts'

/** Which groups of a pass count pods with the same labels. */
export interface LabelClass {
  readonly facts: LabelFacts
  readonly selectedBy: TopologyGroup[]
  readonly selectedByInverse: TopologyGroup[]
}

/** A pod with the rules that it states; unset until needed. */
export interface StatingPod {
  readonly pod: Pod
  /** The pod with all its alternatives: whichever is tried, its spreads count the nodes of every one. */
  readonly whole: Pod
  rules: readonly StatedRule[] | undefined
}

/** A pod with the rules by which it keeps others away; unset until needed. */
export interface RepellingPod {
  readonly pod: Pod
  inverseRules: readonly StatedRule[] | undefined
}

/** A pod as groups evaluate it. */
export interface ConcernedPod {
  readonly facts: StatingPod
  /** Requirements that narrow the topology domains counted for the pod, without preferences. */
  readonly strict: Requirements
  readonly labelClass: LabelClass
  /** Its own spreads and affinities; unset until the pod states them. */
  groups: readonly TopologyGroup[] | undefined
  /** Its groups and those that keep it away; built again when there are more of the latter. */
  concerns: readonly Concern[] | undefined
  inverseSeen: number
}

/** A group that applies to a pod. */
export interface Concern {
  readonly group: TopologyGroup
  /** The pod's strict requirement on the group's key. */
  readonly pod: Requirement | undefined
  readonly selectsItself: boolean
  /** Whether it belongs to another pod, which keeps this one away. */
  readonly isInverse: boolean
}

/** Returns the choice that a concern leaves on a place where the key may be `node`; `any`: it does not limit it. */
export function choiceOf(
  { group, pod, selectsItself, isInverse }: Concern,
  node: Requirement | undefined,
): Choice | 'any' {
  // Upstream lets a pending pod keep all others from every node by a key that no node has; Kubernetes does not.
  return isInverse && group.isAboutNothing ? 'any' : group.choose(pod, node, selectsItself)
}

/** Whether groups of hostnames allow a host. */
export function allowedOn(host: number, concerns: readonly Concern[]): boolean {
  for (const { group, pod, selectsItself } of concerns) if (!group.allowsHost(host, pod, selectsItself)) return false
  return true
}
