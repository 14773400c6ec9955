/** Why pods of a class wait. `metric` values of `joiner_pending_pods{state,cause}` are these names. */
export const waitingCauses = [
  'too-big',
  'requirements',
  'taints',
  'limits',
  'quota',
  'capacity',
  'volume',
  'topology',
  'node-pools',
  'paused',
  'refused',
  'kube-scheduler',
  'other',
] as const
export type WaitingCause = (typeof waitingCauses)[number]

/** Pods that are alike for the planner, and why they wait. `core` makes it, a ConfigMap keeps it, `why pod`, `status` and the page show it. */
export interface WaitingClass {
  /** `planned`: a NodeClaim or Node is meant for them. `unschedulable`: nothing is. `held`: planning is paused or they are tried later. */
  readonly state: 'planned' | 'unschedulable' | 'held'
  readonly cause?: WaitingCause
  /** `namespace/name`; the first few. */
  readonly pods: readonly string[]
  readonly count: number
  /** Epoch ms: when the oldest of them was created. */
  readonly sinceMs: number
  /** Names of NodeClaims or Nodes that they are planned on; the first few. */
  readonly plannedOn: readonly string[]
  /** What the planner found, a sentence. */
  readonly finding: string
  /** The funnel of each NodePool, a line each. */
  readonly funnel: readonly string[]
  /** What helps, a sentence each, the best first. */
  readonly remedies: readonly string[]
}
