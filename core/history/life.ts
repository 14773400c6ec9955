import type { Decision, DisruptionMethod, DisruptionReason } from '../disruption/command.ts'

/** The memo entry of lifecycles and disruption commands that holds their facts. */
export const factsKey = 'facts'

/** A time that one VM existed for a NodeClaim, as Azure bills it. A claim whose first VM failed has several. */
export interface VmSpan {
  readonly instanceType: string
  readonly zone: string
  readonly capacityType: string
  /** USD an hour as the price list said at the launch; absent: no list named it. */
  readonly pricePerHour?: number
  /** The price is a model's: no price list had been read. */
  readonly isEstimate?: true
  /** Epoch ms: when Azure accepted the VM. */
  readonly fromMs: number
  /** Epoch ms: when the VM was gone; absent: it still exists. One that Azure could not make ends when it begins. */
  readonly toMs?: number
}

/** Why a NodeClaim was created. */
export type Birth =
  /** `pods`: the number of pods that were planned onto it; `buffers`: the CapacityBuffers that it keeps room for, as `namespace/name`. */
  | { readonly kind: 'pods'; readonly pods: number; readonly buffers?: readonly string[] }
  /** `replaces`: the names of the NodeClaims that leave. */
  | { readonly kind: 'replacement'; readonly command: string; readonly replaces: readonly string[] }
  /** `replicas`: of its static NodePool at that time. */
  | { readonly kind: 'static'; readonly replicas: number }
  /** Somebody created it by hand, or another controller did. */
  | { readonly kind: 'by-hand' }

/** Causes of death with a message. `cancelled`: its lifecycle was cancelled in Temporal. `scaled-down`: its static NodePool had more nodes than replicas. `node-gone`: its Node was gone. */
export const messageKinds = [
  'interrupted',
  'repaired',
  'expired',
  'forced',
  'cancelled',
  'vm-lost',
  'scaled-down',
  'node-gone',
] as const

/** Why a NodeClaim was deleted. */
export type Death =
  | { readonly kind: 'disruption'; readonly command: string; readonly reason: DisruptionReason }
  | { readonly kind: (typeof messageKinds)[number]; readonly message: string }
  /** It never became a node. */
  | { readonly kind: 'gave-up'; readonly reason: string; readonly message: string }
  /** Somebody deleted the NodeClaim or its Node. */
  | { readonly kind: 'deleted' }

/** Why and since when (epoch ms) a NodeClaim is being deleted. */
export interface Leaving {
  readonly went: Death
  readonly drainingMs: number
}

/** Capacity that Azure refused during one life. */
export interface RefusedCapacity {
  readonly instanceType: string
  readonly zone: string
  readonly capacityType: string
  readonly reason: string
}

/** The facts of one NodeClaim's life, as the memo of its lifecycle holds them. Times are epoch ms; what is absent has not happened or is not known. */
export interface LifeFacts {
  readonly nodePool?: string
  readonly node?: string
  readonly createdMs: number
  readonly registeredMs?: number
  readonly readyMs?: number
  readonly drainingMs?: number
  readonly endedMs?: number
  /** Pods that the drain moved. */
  readonly drainedPods?: number
  /** In the order of their launches; the last few where there were many. */
  readonly vms: readonly VmSpan[]
  readonly came: Birth
  readonly went?: Death
  /** The latest few. */
  readonly refused: readonly RefusedCapacity[]
  /** Launch attempts. */
  readonly attempts: number
  /** Labels of the claim that its NodePool or its owner gave it, without well-known ones; as many as the memo's limit allows. */
  readonly labels: Readonly<Record<string, string>>
}

export interface Life extends LifeFacts {
  readonly nodeClaim: string
  /** The first eight characters. */
  readonly uid: string
  readonly workflowId: string
  readonly runId: string
  readonly isRunning: boolean
}

/** The facts of one disruption command, as the memo of its workflow holds them. */
export interface CommandFacts {
  readonly id: string
  readonly method: DisruptionMethod
  readonly reason: DisruptionReason
  readonly decision: Decision
  /** Names of NodeClaims; the first few where there are many. */
  readonly candidates: readonly string[]
  readonly replacements: readonly string[]
  /** USD an hour. */
  readonly savings: number
  readonly startedMs: number
  /** Epoch ms of its commit, as proposed. Absent: it was committed, and did not only wait for it. */
  readonly dueMs?: number
  /** Absent: it runs. */
  readonly endedMs?: number
  readonly outcome?: 'done' | 'undone'
  /** Why it was undone. */
  readonly message?: string
}

/** What Temporal still knows of a cluster. */
export interface History {
  /** Lives that existed at some time since `sinceMs`, the oldest first. */
  readonly lives: readonly Life[]
  readonly commands: readonly CommandFacts[]
  /** Epoch ms: the asked time, or the later one from which Temporal's retention keeps everything. */
  readonly sinceMs: number
  readonly untilMs: number
  /** Closed workflows are kept for this long, in ms; absent: Temporal did not say. */
  readonly retentionMs?: number
  /** Lifecycles without readable facts: older versions of Joiner, terminated runs. */
  readonly unreadable: number
  /** Lifecycles whose VM is not known yet: a memo has it once the Node has joined. Absent: none. */
  readonly withoutVm?: number
}
