import type { Verdict } from '../../../core/disruption/verdicts/verdict.ts'
import type { Node, NodeClaim, NodePool, Pod, PodDisruptionBudget } from '../../../core/objects.ts'
import type { Pause, Pauses } from '../../../core/pauses/pauses.ts'
import type { VolumeAttachment } from '../../../core/pods/related-objects.ts'
import type { WaitingClass } from '../../../core/scheduling/explain/waiting-class.ts'
import type { Missing } from '../../picture/missing.ts'

/** A PodDisruptionBudget with the numbers of its status. */
export interface CountedBudget extends PodDisruptionBudget {
  readonly healthy: number
  readonly wanted: number
  readonly pods: number
}

export interface EventFacts {
  readonly reason: string
  readonly message: string
  /** Kind of the object that it is about. */
  readonly about: string
  /** Epoch ms of the last time it was reported. */
  readonly at: number
  readonly times: number
}

/** What Joiner keeps about the evaluations of nodes. */
export interface KeptVerdict {
  /** Absent: there is none of this node. */
  readonly verdict?: Verdict
  /** Why the one that there is cannot be read, with the remedy. */
  readonly unread?: string
  /** When the cluster was evaluated last, epoch ms, up to a minute late; absent: it never was. */
  readonly lastPassMs?: number
}

/** What is read of a node that is being drained. */
export interface DrainFacts {
  /** Pods that were evicted from it, as far as events tell, the latest first. */
  readonly evicted: readonly string[]
  /** Volumes that are attached to it; absent: they could not be read. */
  readonly attachments?: readonly VolumeAttachment[]
}

/** A node as it is at one moment; either of node and claim may be missing. */
export interface NodeFacts extends KeptVerdict {
  /** Epoch ms. */
  readonly now: number
  readonly node?: Node
  readonly claim?: NodeClaim
  readonly pool?: NodePool
  /** All that are bound to it. */
  readonly pods: readonly Pod[]
  readonly budgets: readonly CountedBudget[]
  readonly pauses: Pauses
  readonly events: readonly EventFacts[]
  /** Absent: its NodeClaim is not being deleted. */
  readonly drain?: DrainFacts
  /** As Temporal knows the cluster; absent: not known here. */
  readonly cluster?: string
  /** What adorns the answer and could not be read. */
  readonly missing?: readonly Missing[]
}

/** What is known about a pod that waits. */
export interface WaitingFacts {
  /** What the planner found about such pods; unset when it has found nothing yet. */
  readonly found?: WaitingClass
  /** Why it cannot be said what the planner found; unset: it was read. */
  readonly unread?: Missing
  /** When the planner wrote that last, epoch ms. */
  readonly atMs?: number
  /** The pause of provisioning as a whole, if there is one. */
  readonly pause?: Pause
  /** The NodeClaim that the pod is planned on, as it is now. */
  readonly claim?: NodeClaim
}

/** A pod, and the node that it runs on. */
export interface PodFacts {
  readonly now: number
  readonly pod: Pod
  readonly budgets: readonly CountedBudget[]
  readonly events: readonly EventFacts[]
  /** What adorns the answer and could not be read. */
  readonly missing?: readonly Missing[]
  /** Absent: it runs nowhere, or its node is gone. */
  readonly node?: NodeFacts
  /** Absent: it waits for no node. */
  readonly waiting?: WaitingFacts
}
