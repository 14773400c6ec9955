import type { InstanceType } from '../instance-type.ts'
import type { NodePool, Pod, RequirementSpec, Taint } from '../objects.ts'
import type { DaemonSet } from '../pods/related-objects.ts'
import type { Requirements } from '../requirements/requirements.ts'
import type { Resources } from '../resources.ts'

/** A Node as it stands in the cluster: pods are counted by its own labels, whatever its claim promises. */
export interface NodeFacts {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
}

/** A Node that takes no pods any more, or not yet. Those that it has count for topology all the same. */
export interface OccupiedNode {
  readonly facts: NodeFacts
  readonly pods: readonly Pod[]
  /** Whether its pods keep others away by their anti-affinity: not so on Nodes that are too new to be told apart. */
  readonly isTracked: boolean
}

/** A place that exists or is on its way: a Node, or a NodeClaim whose Node has not joined yet. */
export interface SchedulableNode {
  /** The Node's name; the claim's while there is no Node. */
  readonly name: string
  /** Its domain for the topology key kubernetes.io/hostname. */
  readonly hostname: string
  readonly nodeClaim?: string
  readonly nodePool?: string
  readonly initialized: boolean
  readonly labels: Readonly<Record<string, string>>
  /** Of a claim that has no VM yet: what its labels will be among. Keys that stand in `labels` do not matter here. */
  readonly requirements?: readonly RequirementSpec[]
  /** The Node itself; absent while only its claim is there. */
  readonly joined?: NodeFacts
  /** Present: it takes no more pods, because a pod there may keep others away by constraints that are not known. */
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

/** What a pod's volumes ask of its node (reference/karpenter-core.md 3.10). */
export interface PodVolumes {
  readonly byDriver: VolumesByDriver
  /** Each is one way to reach all volumes; the pod needs one of them. Empty: any node will do. */
  readonly alternatives: readonly (readonly RequirementSpec[])[]
  /** Why the volumes cannot be resolved now; the pod fails with it. */
  readonly error?: string
  /** Whether what the volumes ask could not be found out: the pod is placed without, and states no topology rules at first. */
  readonly lookupFailed?: boolean
}

/** A NodePool that may be extended. */
export interface NodePoolOption {
  readonly nodePool: NodePool
  readonly instanceTypes: readonly InstanceType[]
  /** Sum of the capacity of its nodes, with their number as `nodes`. */
  readonly usage: Resources
}

/** Places by their names that do not take these pods, whatever room they have. */
interface Barred {
  readonly places: ReadonlySet<string>
  readonly pods: ReadonlySet<Pod>
}

/** All that a placement depends on, read at one moment. */
export interface SchedulingSnapshot {
  /** Pods to place, with cluster default spread constraints already entered. */
  readonly pods: readonly Pod[]
  /** Of those pods that have volumes. */
  readonly podVolumes?: ReadonlyMap<Pod, PodVolumes>
  /** Pods left out, with the reason (`ignoring pod, ...`). */
  readonly ignored?: ReadonlyMap<Pod, string>
  readonly nodes: readonly SchedulableNode[]
  /** Nodes that are no places but whose pods count: those being deleted, and those not known well enough yet. */
  readonly occupied?: readonly OccupiedNode[]
  readonly barred?: Barred
  /** Pods that share new claims with nobody but pods of the same group, by the group's name. */
  readonly apart?: ReadonlyMap<Pod, string>
  /** Every pool that is ready and may grow, those without instance types included. */
  readonly nodePools: readonly NodePoolOption[]
  readonly daemonSets: readonly DaemonSet[]
  /** Labels by namespace name, for namespace selectors of pod affinity terms. */
  readonly namespaceLabels?: ReadonlyMap<string, Readonly<Record<string, string>>>
}

/** A NodeClaim to create. */
export interface PlannedNodeClaim {
  readonly nodePool: string
  /** Entries of `spec.requirements`, instance types included. */
  readonly requirements: readonly RequirementSpec[]
  /** What was planned with, before types and launchable capacity types were written into `requirements`. */
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
  /** Whether minValues had to be relaxed. */
  readonly minValuesRelaxed?: boolean
}

export interface SchedulingPlan {
  readonly newNodeClaims: readonly PlannedNodeClaim[]
  readonly existing: readonly { readonly node: string; readonly nodeClaim?: string; readonly pods: readonly Pod[] }[]
  readonly unschedulable: readonly { readonly pod: Pod; readonly message: string }[]
  /** Pools none of whose types they themselves accept; `byMinValues`: some would do, but too few for minValues. */
  readonly incompatiblePools?: readonly { readonly nodePool: string; readonly byMinValues: boolean }[]
  /** Pods with many constraints for which the pass had no time left; they are in no other list. */
  readonly postponed?: readonly Pod[]
  /** Whether `shouldStop` or `maxNewClaims` ended the pass before every pod had been looked at; those are in none of the lists. */
  readonly stopped: boolean
}

export interface SchedulingOptions {
  /** Asked before each pod; true ends the pass with what was planned so far. */
  readonly shouldStop?: () => boolean
  /**
   * Called when all but the pods with many constraints have been planned; the function that it returns is asked all the time then, and false ends the
   * pass. Without it they have all the time that they need.
   */
  readonly heavyPodsBegin?: () => () => boolean
  /** Called with each pod that is worked on, and with undefined when that is over: who watches the pass knows by it which pod it ended at. */
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
  /** `Fallback` goes on without a reservation where `Strict`, the default, waits for one (disruption simulates so). */
  readonly reservedOfferings?: 'Strict' | 'Fallback'
  /** The label that names a capacity reservation in offerings. */
  readonly reservationIdLabel?: string
  /** Keys that nodes may define although no NodePool does. Default: `wellKnownLabels`. */
  readonly wellKnownLabels?: ReadonlySet<string>
}
