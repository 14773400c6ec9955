import { type DisruptionMethod, methodNames } from './command.ts'

/** Limits of one evaluation: its methods, and how much each may do. */
export interface DisruptionPolicy {
  /** In the order of evaluation. */
  readonly methods: readonly DisruptionMethod[]
  /** Whether the first method that finds a command ends the evaluation. */
  readonly endsAtFirst: boolean
  /** The most commands of a method; unlimited when unset. */
  readonly mostCommands: Readonly<Partial<Record<DisruptionMethod, number>>>
  /** A method is skipped when one of these found a command. */
  readonly notAfter: Readonly<Partial<Record<DisruptionMethod, readonly DisruptionMethod[]>>>
  /** Share of a pool's budget with which a rollout of drifted nodes begins in one evaluation; all of it when unset. */
  readonly driftShare?: number
  /** Most candidates that a search for several nodes considers. */
  readonly maxMultiNodeCandidates: number
  /**
   * Whether a drifted node gets no replacement that none of its own pods needs. The provisioner makes nodes for pods that already wait and for those
   * of nodes that go anyway; Karpenter makes nodes for them here as well.
   */
  readonly leavesOthersPods: boolean
}

/**
 * Joiner's policy: all empty nodes, drifted nodes within budgets, and either the best set of nodes that go together or several single ones.
 */
export const joinerPolicy: DisruptionPolicy = {
  methods: methodNames,
  endsAtFirst: false,
  // Each further command requires another simulation of the cluster.
  mostCommands: { repair: 1, 'single-node': 20 },
  // Nodes that go together are worth more than single ones, which the next evaluation also finds.
  notAfter: { 'single-node': ['multi-node'] },
  // Nodes that come and go in step would leave the budget empty in between.
  driftShare: 0.2,
  maxMultiNodeCandidates: Number.POSITIVE_INFINITY,
  leavesOthersPods: true,
}

/** Joiner's policy where the gate StaticCapacity is off: no replacement would be counted as a replica. */
export const withoutStaticCapacity: DisruptionPolicy = {
  ...joinerPolicy,
  methods: methodNames.filter((method) => method !== 'static-drift'),
}

/**
 * Karpenter's policy: the first method with a command ends the pass. It finds one command, except for static NodePools (reference/karpenter-core.md
 * 4.1, 4.8).
 */
export const karpenterPolicy: DisruptionPolicy = {
  methods: methodNames,
  endsAtFirst: true,
  mostCommands: { repair: 1, drift: 1, 'single-node': 1 },
  notAfter: {},
  maxMultiNodeCandidates: 100,
  leavesOthersPods: false,
}
