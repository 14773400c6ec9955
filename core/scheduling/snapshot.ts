import type { InstanceType } from '../instance-type.ts'
import type { NodePool, Pod, RequirementSpec, Taint } from '../objects.ts'
import type { DaemonSet } from '../pods/related-objects.ts'
import type { Requirements } from '../requirements/requirements.ts'
import type { Resources } from '../resources.ts'
import type { UnschedulableCause, VolumeProblem } from './unschedulable.ts'

/** A Node in the cluster: pods are counted by its own labels, whatever its claim promises. */
export interface NodeFacts {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
}

/** A Node that does not accept pods, now or any more. Its pods still count for topology. */
export interface OccupiedNode {
  readonly facts: NodeFacts
  readonly pods: readonly Pod[]
  /** Whether its pods keep others away by their anti-affinity: false for Nodes that are too new to be identified. */
  readonly isTracked: boolean
}

/** An existing or in-flight place: a Node, or a NodeClaim whose Node has not joined. */
export interface SchedulableNode {
  /** The Node's name; the claim's while there is no Node. */
  readonly name: string
  /** Its domain for the topology key kubernetes.io/hostname. */
  readonly hostname: string
  readonly nodeClaim?: string
  readonly nodePool?: string
  readonly initialized: boolean
  readonly labels: Readonly<Record<string, string>>
  /** Labels that the Node has instead, where they differ: kube-scheduler binds only pods that these admit as well. */
  readonly reported?: Readonly<Record<string, string>>
  /** Possible labels of a claim without a VM. Keys of `labels` do not matter here. */
  readonly requirements?: readonly RequirementSpec[]
  /** The Node itself; unset while only its claim exists. */
  readonly joined?: NodeFacts
  /** Set when it accepts no more pods, because a pod there may keep others away by unknown constraints. */
  readonly isClosed?: true
  /** Without those that are expected to vanish while the node starts. */
  readonly taints: readonly Taint[]
  /** What it counts against its pool's limits. */
  readonly capacity: Resources
  /** What is left for pods. */
  readonly available: Resources
  /** Pods that are bound here or counted on it. */
  readonly pods: readonly Pod[]
  /** Distinct volumes in use by CSI driver, and how many each driver can attach; a driver without an entry has no limit. */
  readonly volumes?: VolumesByDriver
  readonly volumeLimits?: Readonly<Record<string, number>>
}

/** Ids of distinct volumes (`namespace/claim`) by CSI driver. */
export type VolumesByDriver = Readonly<Record<string, readonly string[]>>

/** Requirements of a pod's volumes on its node (reference/karpenter-core.md 3.10). */
export interface PodVolumes {
  readonly byDriver: VolumesByDriver
  /** Each is one way to reach all volumes; the pod needs one of them. Empty: any node will do. */
  readonly alternatives: readonly (readonly RequirementSpec[])[]
  /** Why the volumes cannot be resolved now; the pod fails with it. */
  readonly error?: VolumeProblem
  /** Whether the volumes' requirements could not be determined: the pod is placed without them, and states no topology rules at first. */
  readonly lookupFailed?: boolean
}

/** A NodePool that may be extended. */
export interface NodePoolOption {
  readonly nodePool: NodePool
  readonly instanceTypes: readonly InstanceType[]
  /** Sum of the capacity of its nodes, with their number as `nodes`. */
  readonly usage: Resources
}

/** Names of places that do not accept these pods, whatever room they have. */
interface Barred {
  readonly places: ReadonlySet<string>
  readonly pods: ReadonlySet<Pod>
}

/** Everything that a placement depends on, read at one moment. */
export interface SchedulingSnapshot {
  /** Pods to place, with cluster default spread constraints already entered. */
  readonly pods: readonly Pod[]
  /** Of those pods that have volumes. */
  readonly podVolumes?: ReadonlyMap<Pod, PodVolumes>
  /** Pods left out. */
  readonly ignored?: ReadonlyMap<Pod, UnschedulableCause>
  readonly nodes: readonly SchedulableNode[]
  /** Nodes that are no places but whose pods count: those being deleted, and those not fully known. */
  readonly occupied?: readonly OccupiedNode[]
  readonly barred?: Barred
  /** Pods that share new claims only with pods of the same group, by the group's name. */
  readonly apart?: ReadonlyMap<Pod, string>
  /** Every pool that is ready and may grow, including those without instance types. */
  readonly nodePools: readonly NodePoolOption[]
  readonly daemonSets: readonly DaemonSet[]
  /** Labels by namespace name, for namespace selectors of pod affinity terms. */
  readonly namespaceLabels?: ReadonlyMap<string, Readonly<Record<string, string>>>
}

export interface PlannedNodeClaim {
  readonly nodePool: string
  /** Entries of `spec.requirements`, instance types included. */
  readonly requirements: readonly RequirementSpec[]
  /** Planned requirements, before types and launchable capacity types were written into `requirements`. */
  readonly wanted: Requirements
  /** Labels of the claim: the template's and one value of each custom requirement. */
  readonly labels: Readonly<Record<string, string>>
  /** Names of the types it may become, cheapest first. */
  readonly instanceTypes: readonly string[]
  /** Of its pods and of the daemons that every one of the types would carry. */
  readonly requests: Resources
  readonly pods: readonly Pod[]
  /** Lowest price in USD an hour at which it can be launched. */
  readonly price: number
  readonly minValuesRelaxed?: boolean
  /** For a static NodePool rather than for pods: its replicas. */
  readonly forReplicas?: number
  /** The state of its NodePool and class that it was planned with. Another state asks for another plan. */
  readonly plannedWith?: string
}

/** A pod without a place. */
export interface UnschedulablePod {
  readonly pod: Pod
  readonly cause: UnschedulableCause
}

export interface SchedulingPlan {
  readonly newNodeClaims: readonly PlannedNodeClaim[]
  readonly existing: readonly { readonly node: string; readonly nodeClaim?: string; readonly pods: readonly Pod[] }[]
  readonly unschedulable: readonly UnschedulablePod[]
  /** Pools none of whose types meet the pool's own requirements; `byMinValues`: some do, but too few for minValues. */
  readonly incompatiblePools?: readonly { readonly nodePool: string; readonly byMinValues: boolean }[]
  /** Pods with many constraints for which the pass had no time; they are in no other list. */
  readonly postponed?: readonly Pod[]
  /** Whether `shouldStop` or `maxNewClaims` ended the pass before every pod was tried; the others are in none of the lists. */
  readonly stopped: boolean
}

export interface SchedulingOptions {
  /** Called before each pod; true ends the pass with the plan so far. */
  readonly shouldStop?: () => boolean
  /**
   * Called when only pods with many constraints are left. The function that it returns is called continually then, and false ends the pass. Without
   * it they have unlimited time.
   */
  readonly heavyPodsBegin?: () => () => boolean
  /** Called with each pod when work on it starts, and with undefined at the end. A watchdog of the pass learns from it which pod a pass ended at. */
  readonly inHand?: (pod: Pod | undefined) => void
  /** The pass ends as soon as more new claims than this are open, unless no pod is left then. */
  readonly maxNewClaims?: number
  /** How many types a new NodeClaim may name. Default 600. */
  readonly maxInstanceTypes?: number
  /** `Ignore` drops preferences before anything is tried. Default `Respect`. */
  readonly preferencePolicy?: 'Respect' | 'Ignore'
  /** `BestEffort` relaxes minValues when a new claim could not be opened otherwise. Default `Strict`. */
  readonly minValuesPolicy?: 'Strict' | 'BestEffort'
  /** Whether reserved offerings are used. Default true. */
  readonly reservedCapacity?: boolean
  /** `Fallback` goes on without a reservation where `Strict`, the default, waits for one. Disruption simulates with `Fallback`. */
  readonly reservedOfferings?: 'Strict' | 'Fallback'
  /** The label that names a capacity reservation in offerings. */
  readonly reservationIdLabel?: string
  /** Keys that nodes may define although no NodePool does. Default: `wellKnownLabels`. */
  readonly wellKnownLabels?: ReadonlySet<string>
}
