import { type DisruptionMethod, methodNames } from './command.ts'

/** How much one evaluation does: which methods it asks, and how far each may go. */
export interface DisruptionPolicy {
  /** In the order in which they are asked. */
  readonly methods: readonly DisruptionMethod[]
  /** Whether the first method that finds a command ends the evaluation. */
  readonly endsAtFirst: boolean
  /** The most commands of a method; absent: as many as it finds. */
  readonly mostCommands: Readonly<Partial<Record<DisruptionMethod, number>>>
  /** A method is not asked where one of these found a command. */
  readonly notAfter: Readonly<Partial<Record<DisruptionMethod, readonly DisruptionMethod[]>>>
  /** The part of a pool's budget with which a rollout of drifted nodes begins in one evaluation; absent: all of it. */
  readonly driftShare?: number
  /** How many candidates a search for several nodes looks at. */
  readonly maxMultiNodeCandidates: number
  /**
   * Whether a drifted node gets no replacement that none of its own pods needs. Pods that wait already, and those of nodes that go anyway, get
   * their nodes from the provisioner; Karpenter makes nodes for them here as well.
   */
  readonly leavesOthersPods: boolean
}

/**
 * What Joiner does: all empty nodes, drifted nodes as far as budgets go, and either the best set of nodes that go together or several single
 * ones. Drift of static NodePools is not offered.
 */
export const joinerPolicy: DisruptionPolicy = {
  methods: methodNames.filter((method) => method !== 'static-drift'),
  endsAtFirst: false,
  // Each one more asks for another look at the cluster as it will be.
  mostCommands: { 'single-node': 20 },
  // Nodes that go together are worth more than single ones, which the next evaluation finds as well.
  notAfter: { 'single-node': ['multi-node'] },
  // Nodes that come and go in step would leave the budget empty in between.
  driftShare: 0.2,
  maxMultiNodeCandidates: Number.POSITIVE_INFINITY,
  leavesOthersPods: true,
}

/** What Karpenter does: the first method that finds a command ends the pass, and finds one unless it is about static NodePools (reference/karpenter-core.md 4.1, 4.8). */
export const karpenterPolicy: DisruptionPolicy = {
  methods: methodNames,
  endsAtFirst: true,
  mostCommands: { drift: 1, 'single-node': 1 },
  notAfter: {},
  maxMultiNodeCandidates: 100,
  leavesOthersPods: false,
}
