import type { JudgedNodeClassSpec } from './node-class/node-class-validation.ts'
import type { Resources } from './resources.ts'

/** Kubernetes object metadata, as much of it as decisions need. Timestamps are RFC 3339 texts as served. */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly finalizers: readonly string[]
  readonly ownerReferences: readonly OwnerReference[]
}

export function isDeleting({ metadata }: { readonly metadata: Pick<ObjectMeta, 'deletionTimestamp'> }): boolean {
  return metadata.deletionTimestamp !== undefined
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
}

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
  readonly observedGeneration?: number
}

type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'

export interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: TaintEffect
}

export interface Toleration {
  readonly key?: string
  readonly operator?: 'Exists' | 'Equal' | 'Lt' | 'Gt'
  readonly value?: string
  readonly effect?: TaintEffect
  readonly tolerationSeconds?: number
}

export type RequirementOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Gte' | 'Lte'

/** A requirement of a NodePool, a NodeClaim or a node affinity term. */
export interface RequirementSpec {
  readonly key: string
  readonly operator: RequirementOperator
  readonly values?: readonly string[]
  readonly minValues?: number
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
    readonly values?: readonly string[]
  }[]
}

interface NodeSelectorTerm {
  readonly matchExpressions?: readonly RequirementSpec[]
  readonly matchFields?: readonly RequirementSpec[]
}

export interface PodAffinityTerm {
  readonly labelSelector?: LabelSelector
  readonly namespaces?: readonly string[]
  readonly namespaceSelector?: LabelSelector
  readonly topologyKey: string
}

export interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms?: readonly NodeSelectorTerm[]
    }
    readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
      readonly weight: number
      readonly preference: NodeSelectorTerm
    }[]
  }
  readonly podAffinity?: PodAffinityTerms
  readonly podAntiAffinity?: PodAffinityTerms
}

interface PodAffinityTerms {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[]
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number
    readonly podAffinityTerm: PodAffinityTerm
  }[]
}

export interface TopologySpreadConstraint {
  readonly maxSkew: number
  readonly topologyKey: string
  readonly whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway'
  readonly labelSelector?: LabelSelector
  readonly minDomains?: number
  readonly nodeAffinityPolicy?: 'Honor' | 'Ignore'
  readonly nodeTaintsPolicy?: 'Honor' | 'Ignore'
  readonly matchLabelKeys?: readonly string[]
}

export interface ContainerPort {
  readonly containerPort?: number
  readonly hostPort?: number
  readonly hostIP?: string
  readonly protocol?: string
}

/** Parts of a pod beyond the scheduler's limits. */
export interface PodExcess {
  /** Why the pod is not planned at all: its requirements are too many. */
  readonly refused?: string
  /** Preferences that are left out. */
  readonly dropped?: string
}

/** A pod, decoded once: the fields for placing, evicting and counting it. `requests` includes `pods: 1`. */
export interface Pod {
  readonly kind: 'Pod'
  readonly metadata: ObjectMeta
  readonly nodeName?: string
  readonly nominatedNodeName?: string
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  readonly conditions: readonly Condition[]
  readonly startTime?: string
  /** What kube-scheduler last wrote of a pod for which it found no node, and when; it does not write the same text again. */
  readonly unschedulable?: { readonly atMs: number; readonly message: string }
  readonly requests: Resources
  readonly limits: Resources
  readonly nodeSelector: Readonly<Record<string, string>>
  /** Without preferred node affinity terms that no node can meet. */
  readonly affinity?: Affinity
  /** The error of the first term that was left out, and the number of others; unset when there was none. */
  readonly ignoredPreferences?: string
  readonly tolerations: readonly Toleration[]
  readonly topologySpreadConstraints: readonly TopologySpreadConstraint[]
  readonly hostPorts: readonly ContainerPort[]
  readonly persistentVolumeClaims: readonly string[]
  /** Names of its dynamic resource claims, those of its containers included. */
  readonly resourceClaims: readonly string[]
  readonly priority?: number
  readonly priorityClassName?: string
  readonly terminationGracePeriodSeconds: number
  /** Parts of it beyond the scheduler's limits, which are missing here. */
  readonly excess?: PodExcess
  /** A pod that exists only in plans: the CapacityBuffer that it keeps room for, as `namespace/name`. No API object can set this. */
  readonly buffer?: string
}

export interface Node {
  readonly kind: 'Node'
  readonly metadata: ObjectMeta
  readonly providerId?: string
  readonly taints: readonly Taint[]
  readonly unschedulable: boolean
  readonly capacity: Resources
  readonly allocatable: Resources
  readonly conditions: readonly Condition[]
  /** Such as `v1.34.2`. */
  readonly kubeletVersion?: string
  /** Changes with each boot of its VM. */
  readonly bootId?: string
  /** A condition announces the end of its VM. The watch cache sets this, not the API server. */
  readonly isInterrupted?: true
}

export interface NodeClassRef {
  readonly group: string
  readonly kind: string
  readonly name: string
}

/** Common fields of a NodePool's template and a NodeClaim's spec. Durations are Kubernetes texts ("720h", "Never"). */
export interface NodeClaimSpec {
  readonly taints: readonly Taint[]
  readonly startupTaints: readonly Taint[]
  readonly requirements: readonly RequirementSpec[]
  readonly nodeClassRef: NodeClassRef
  readonly terminationGracePeriod?: string
  readonly expireAfter?: string
}

export interface NodeClaim {
  readonly kind: 'NodeClaim'
  readonly metadata: ObjectMeta
  readonly spec: NodeClaimSpec & { readonly requests: Resources }
  readonly status: {
    readonly nodeName?: string
    readonly providerId?: string
    readonly imageId?: string
    readonly capacity: Resources
    readonly allocatable: Resources
    readonly conditions: readonly Condition[]
    readonly lastPodEventTime?: string
  }
}

export interface Budget {
  readonly nodes: string
  readonly reasons?: readonly string[]
  readonly schedule?: string
  readonly duration?: string
}

export interface NodePool {
  readonly kind: 'NodePool'
  readonly metadata: ObjectMeta
  readonly template: {
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
    readonly spec: NodeClaimSpec
    /** The drift hash of the stored template (`nodePoolHash`). The pool's annotation is updated a moment later. */
    readonly hash?: string
  }
  readonly disruption: {
    readonly consolidateAfter: string
    readonly consolidationPolicy: 'WhenEmpty' | 'WhenEmptyOrUnderutilized' | 'Balanced'
    readonly budgets: readonly Budget[]
  }
  readonly limits: Resources
  readonly weight: number
  readonly isStatic: boolean
  /** How many nodes a static pool keeps. */
  readonly replicas?: number
  readonly conditions: readonly Condition[]
  /** Resources that its status counts; unset before the first count. */
  readonly resources?: Resources
  readonly nodes?: number
  readonly nodeClassObservedGeneration?: number
}

/** Prices and extended resources of offerings, as somebody corrects them (reference/karpenter-core.md 1.3). */
export interface NodeOverlay {
  readonly kind: 'NodeOverlay'
  readonly metadata: ObjectMeta
  readonly requirements: readonly RequirementSpec[]
  /** USD an hour, as written. */
  readonly price?: string
  /** `+1`, `-0.05`, `+10%`, as written. */
  readonly priceAdjustment?: string
  readonly capacity: Resources
  readonly weight: number
  readonly conditions: readonly Condition[]
}

/** An AKSNodeClass as applied. */
export interface NodeClass {
  readonly kind: 'AKSNodeClass'
  readonly metadata: ObjectMeta
  readonly spec: JudgedNodeClassSpec
  readonly status: {
    readonly images: readonly { readonly id: string; readonly requirements: readonly RequirementSpec[] }[]
    readonly kubernetesVersion?: string
    readonly localDnsState?: 'Enabled' | 'Disabled'
    readonly conditions: readonly Condition[]
  }
}

export interface PodDisruptionBudget {
  readonly kind: 'PodDisruptionBudget'
  readonly metadata: ObjectMeta
  readonly selector?: LabelSelector
  readonly minAvailable?: number | string
  readonly maxUnavailable?: number | string
  readonly unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow'
  readonly disruptionsAllowed: number
}
