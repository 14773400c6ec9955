import type { RequirementSpec, Taint } from '../objects.ts'
import type { Unclaimable } from '../requirements/claim-requirements.ts'
import type { Requirement } from '../requirements/requirement.ts'
import type { Incompatibility, Requirements } from '../requirements/requirements.ts'
import type { Resources } from '../resources.ts'

/** A problem of a pod's volumes. Claims are named as `namespace/name` unless upstream names them otherwise. */
export type VolumeProblem =
  | { readonly kind: 'claim-not-found'; readonly claim: string }
  | { readonly kind: 'claim-deleting'; readonly claim: string }
  | { readonly kind: 'claim-lost'; readonly claim: string; readonly volume: string }
  | { readonly kind: 'claim-not-bound'; readonly claim: string; readonly volume: string }
  | { readonly kind: 'claim-without-class'; readonly claim: string }
  | { readonly kind: 'claim-class-not-found'; readonly claim: string; readonly storageClass: string }
  | { readonly kind: 'claim-class-immediate'; readonly claim: string; readonly storageClass: string }
  /** The volume of a claim is deleted, or being deleted. */
  | {
      readonly kind: 'claim-volume-not-found' | 'claim-volume-deleting'
      readonly claim: string
      readonly volume: string
      readonly storageClass: string
    }
  /** Only one pod may use the claim, and `pod` does or comes first. */
  | { readonly kind: 'claim-in-use'; readonly claim: string; readonly pod: string }
  | { readonly kind: 'volume-not-found'; readonly volume: string }
  | { readonly kind: 'class-not-found'; readonly storageClass: string }

/** Why a pod is left out before any attempt (reference/karpenter-core.md 3.2). */
export type IgnoredReason =
  | { readonly kind: 'not-on-karpenter' }
  | { readonly kind: 'match-fields' }
  /** `errors`: validation errors of the requirement. */
  | { readonly kind: 'requirement'; readonly requirement: RequirementSpec; readonly errors: readonly string[] }
  | { readonly kind: 'volumes'; readonly problem: VolumeProblem }

export type TypeCriterion = 'requirements' | 'resources' | 'offering'

/** Why no instance type is left (reference/karpenter-core.md 3.5). */
export type TypeProblem =
  | { readonly kind: 'min-values'; readonly labels: readonly string[] }
  /** No type meets any of these. */
  | { readonly kind: 'unmet'; readonly criteria: readonly TypeCriterion[] }
  /** Types meet each criterion, but those that meet the others lack this one. */
  | { readonly kind: 'not-together'; readonly lacking: TypeCriterion }

/** Why no capacity reservation can be held (reference/karpenter-core.md 3.12). */
export type ReservationProblem = 'none-left' | 'all-full' | 'would-lose-all' | 'falls-through'

/** Origin of requirements that the claim cannot have. */
type Asker = 'pod' | 'volumes' | 'topology'

/** Why a new NodeClaim of one NodePool does not take a pod. */
export type PoolRefusal =
  | { readonly kind: 'node-limit'; readonly nodePool: string }
  | { readonly kind: 'resource-limits'; readonly nodePool: string }
  | { readonly kind: 'taints'; readonly taints: readonly Taint[] }
  /** `driver`: unset when no driver alone rules out every type. */
  | {
      readonly kind: 'volume-limit'
      readonly driver?: { readonly name: string; readonly volumes: number; readonly limit: number }
    }
  | { readonly kind: 'incompatible'; readonly by: Asker; readonly problem: Incompatibility }
  | { readonly kind: 'unclaimable'; readonly by: Asker; readonly problem: Unclaimable }
  | TopologyRefusal
  /** `overheads`: daemon requests on the types that were considered. */
  | {
      readonly kind: 'types'
      readonly problem: TypeProblem
      readonly requirements: Requirements
      readonly requests: Resources
      readonly overheads: readonly Resources[]
    }
  | { readonly kind: 'reservation'; readonly problem: ReservationProblem }
  /** The pass was stopped before another attempt. */
  | { readonly kind: 'not-tried-again' }

export interface TopologyRefusal {
  readonly kind: 'topology'
  readonly rule: 'topology spread' | 'pod affinity' | 'pod anti-affinity'
  readonly key: string
  /** Domains with their pods, by name: the first few, and the number of the others. */
  readonly counts: readonly (readonly [domain: string, pods: number])[]
  readonly others: number
  readonly podDomains: Requirement
  readonly nodeDomains: Requirement
}

/** Why a pod has no place. `unschedulableText` makes the text for readers. */
export type UnschedulableCause =
  | { readonly kind: 'ignored'; readonly reasons: readonly IgnoredReason[] }
  /** `excess`: the parts of the pod beyond the limits, as decoded. */
  | { readonly kind: 'too-much'; readonly excess: string }
  | { readonly kind: 'volumes-not-looked-up'; readonly claims: readonly string[] }
  | { readonly kind: 'volumes'; readonly problem: VolumeProblem }
  | { readonly kind: 'resource-claims' }
  | { readonly kind: 'no-node-pools' }
  | { readonly kind: 'no-instance-types' }
  /** Its constraints take longer than the time limit of a pass or a simulation. */
  | { readonly kind: 'takes-too-long'; readonly what: 'pass' | 'simulation' }
  /** Its NodeClaim can name too few types for minValues. */
  | { readonly kind: 'min-values-cut'; readonly nodePool: string; readonly labels: readonly string[] }
  /** By the NodePools that were tried, in their order. */
  | { readonly kind: 'refused'; readonly refusals: readonly PoolRefusal[] }
  | { readonly kind: 'uninitialized-node'; readonly nodeClaim: string | undefined; readonly node: string | undefined }
