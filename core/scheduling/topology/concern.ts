import type { Pod } from '../../objects.ts'
import type { Requirement } from '../../requirements/requirement.ts'
import type { Requirements } from '../../requirements/requirements.ts'
import type { LabelFacts } from './label-facts.ts'
import type { StatedRule } from './stated-rule.ts'
import type { Choice, TopologyGroup } from './topology-group.ts'

/** Which groups of a pass count pods with the same labels. */
export interface LabelClass {
  readonly facts: LabelFacts
  /** Groups and inverse groups that select these pods. */
  readonly selectedBy: TopologyGroup[]
  readonly selectedByInverse: TopologyGroup[]
}

/** A pod with the rules that it states; they are absent until somebody asks. */
export interface StatingPod {
  readonly pod: Pod
  rules: readonly StatedRule[] | undefined
}

/** A pod with the rules by which it keeps others away; they are absent until somebody asks. */
export interface RepellingPod {
  readonly pod: Pod
  inverseRules: readonly StatedRule[] | undefined
}

/** A pod as groups concern it. */
export interface ConcernedPod {
  readonly facts: StatingPod
  /** What narrows the domains that the pod's topology counts: only what is required. */
  readonly strict: Requirements
  readonly labelClass: LabelClass
  /** Its own spreads and affinities; absent until the pod states them. */
  groups: readonly TopologyGroup[] | undefined
  /** Its groups and those that keep it away; made anew when there are more of the latter. */
  concerns: readonly Concern[] | undefined
  inverseSeen: number
}

/** A group as it concerns a pod. */
export interface Concern {
  readonly group: TopologyGroup
  /** What the pod strictly asks of the group's key. */
  readonly pod: Requirement | undefined
  readonly selectsItself: boolean
  /** Whether it is another pod's, which keeps this one away. */
  readonly isInverse: boolean
}

/** What a concern leaves to choose on a place where the key may be `node`; `any`: it has nothing to say. */
export function choiceOf(
  { group, pod, selectsItself, isInverse }: Concern,
  node: Requirement | undefined,
): Choice | 'any' {
  // Upstream lets a pod that waits keep all others from every node by a key that no node has; Kubernetes does not.
  return isInverse && group.isAboutNothing ? 'any' : group.choose(pod, node, selectsItself)
}

/** Whether groups of hostnames allow a host. */
export function allowedOn(host: number, concerns: readonly Concern[]): boolean {
  for (const { group, pod, selectsItself } of concerns) if (!group.allowsHost(host, pod, selectsItself)) return false
  return true
}
