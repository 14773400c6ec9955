import type { DisruptionView } from '../../core/disruption/candidates.ts'
import type { EvaluationSettings } from '../../core/disruption/evaluate.ts'
import { joinerPolicy, karpenterPolicy } from '../../core/disruption/policy.ts'
import { type DisruptionWorld, disruptionWorld } from '../../core/disruption/world.ts'
import type { NodePool } from '../../core/objects.ts'
import { indexOf } from '../../core/scheduling/cluster-index/index-of.ts'
import type { SchedulingOptions, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import type { clusterObjects } from './cluster-objects.ts'

export const policies = { joiner: joinerPolicy, karpenter: karpenterPolicy } as const
export type PolicyName = keyof typeof policies

/** A cluster and how to decide about it. */
export interface DecisionInput
  extends Pick<EvaluationSettings, 'policy' | 'spotToSpot' | 'terminateFirst' | 'forced' | 'methods'> {
  readonly cluster: ReturnType<typeof clusterObjects>
  /** What each NodePool can buy, by its name. */
  readonly instanceTypes: DisruptionView['instanceTypes']
  /** Epoch ms. */
  readonly now: number
  readonly scheduling: SchedulingOptions & { readonly wellKnownLabels: ReadonlySet<string> }
  /** Names of Nodes on which pending pods are expected. */
  readonly nominated: ReadonlySet<string>
  /** Whether `controller.kubernetes.io/pod-deletion-cost` says what an eviction costs. */
  readonly deletionCosts: boolean
  /** Whether nodes can come from a NodePool; absent: from all. */
  readonly isOpen?: (nodePool: NodePool) => boolean
}

/** A decision about a cluster whose objects are read and indexed, as they are in a planner. */
export interface ReadyDecision {
  /** What an evaluation starts with. */
  readonly world: () => DisruptionWorld
  /** What `evaluate` is given beside the world. */
  readonly settings: EvaluationSettings
  /** What a placement of pending pods starts with. */
  readonly snapshot: () => SchedulingSnapshot
}

/** Indexes the cluster for an evaluation, which is that of production. */
export function readyDecision({ cluster, isOpen = () => true, ...input }: DecisionInput): ReadyDecision {
  const { instanceTypes, now, scheduling, policy, nominated, deletionCosts, ...gates } = input
  const index = indexOf(cluster)
  const { wellKnownLabels: wellKnown } = scheduling
  const moment = { now, wellKnownLabels: wellKnown }
  return {
    snapshot: () => index.snapshot(instanceTypes, moment, isOpen),
    world: () =>
      disruptionWorld(index.source(instanceTypes, moment, isOpen), instanceTypes, {
        now,
        scheduling,
        nominated,
        forced: gates.forced === true,
        view: { deletionCosts },
      }),
    settings: { ...gates, instanceTypes, wellKnown, scheduling, policy },
  }
}
