import type { Pod } from '../objects.ts'
import { type Explanation, PassExplanations } from './explain/explanation.ts'
import { Explanations } from './explain/explanations.ts'
import type { FinishedPass } from './explain/finished-pass.ts'
import { PodFunnels, type PoolFunnel } from './explain/funnel.ts'
import { ClaimFunnels, type ClaimReasons } from './explain/funnel-claims.ts'
import type {
  PlannedNodeClaim,
  SchedulingOptions,
  SchedulingPlan,
  SchedulingSnapshot,
  UnschedulablePod,
} from './snapshot.ts'
import type { Change } from './solver/change.ts'
import type { SolverMemory } from './solver/memory.ts'
import type { ClaimPlace } from './solver/places.ts'
import { Solver } from './solver/solver.ts'
import { SolverBase } from './solver/solver-base.ts'
import type { Waiting } from './solver/waiting-pods.ts'
import type { UnschedulableCause } from './unschedulable.ts'

/**
 * Returns the plan of one of several passes over the same snapshot, which has NodePools. Most of these plans are dropped because a pod has no place,
 * so the cause is computed when it is read.
 */
export function planOf(base: SolverBase, change: Change): SchedulingPlan {
  const { plan, failed } = solved(base, change)
  return { ...plan, unschedulable: [...plan.unschedulable, ...failed] }
}

/** Computes its cause at the first read, and once. */
function unschedulable(pod: Pod, explain: () => UnschedulableCause): UnschedulablePod {
  let cause: UnschedulableCause | undefined
  return {
    pod,
    get cause() {
      cause ??= explain()
      return cause
    },
  }
}

/** A plan with explanations, which are computed on demand. */
export interface ExplainedPlan {
  readonly plan: SchedulingPlan
  /** Returns each NodePool's funnel for a pod that was tried and left pending; empty for other pods. */
  readonly podFunnels: (pod: Pod) => readonly PoolFunnel[]
  /** Why a pod that was tried and left pending found no place, and what helps; undefined for other pods. */
  readonly explanation: (pod: Pod) => Explanation | undefined
  /** Why a new claim of the plan names its types. */
  readonly claimReasons: (claim: PlannedNodeClaim) => ClaimReasons | undefined
}

/**
 * Places pods on existing nodes first, then on claims that the pass has opened, then on a new claim of the first possible NodePool, and keeps the pass
 * for explanations. The same snapshot gives the same plan, whatever the order of its lists (reference/karpenter-core.md 3.2-3.12; docs/scheduler.md).
 */
export function explainedPlan(
  snapshot: SchedulingSnapshot,
  options: SchedulingOptions = {},
  memory?: SolverMemory,
): ExplainedPlan {
  if (snapshot.nodePools.length === 0)
    return {
      plan: withoutPools(snapshot, snapshot.pods),
      podFunnels: () => [],
      explanation: () => undefined,
      claimReasons: () => undefined,
    }
  return explained(new SolverBase(snapshot, options, memory))
}

function explained(base: SolverBase): ExplainedPlan {
  const { plan: placed, failed, places, pass, unplaced } = solved(base)
  const reported = failed.map(({ pod, cause }) => ({ pod, cause }))
  const plan = { ...placed, unschedulable: [...placed.unschedulable, ...reported] }
  const waitingOf = (pod: Pod) => [...unplaced].find((one) => one.pod === pod)
  let explanations: PassExplanations | undefined
  return {
    plan,
    podFunnels: (pod) => {
      const waiting = waitingOf(pod)
      return waiting === undefined ? [] : new PodFunnels(pass).of(waiting)
    },
    explanation: (pod) => {
      const waiting = waitingOf(pod)
      const cause = failed.find((one) => one.pod === pod)?.cause
      explanations ??= new PassExplanations(pass)
      return waiting === undefined || cause === undefined ? undefined : explanations.of(waiting, cause)
    },
    claimReasons: (claim) => {
      const place = places[plan.newNodeClaims.indexOf(claim)]
      return place && new ClaimFunnels(pass).of(place, claim.instanceTypes, claim.price)
    },
  }
}

interface Solved {
  /** Without the pods that failed. */
  readonly plan: SchedulingPlan
  readonly failed: SchedulingPlan['unschedulable']
  /** Of the plan's new claims. */
  readonly places: readonly ClaimPlace[]
  readonly unplaced: ReadonlySet<Waiting>
  readonly pass: FinishedPass
}

function solved(base: SolverBase, change?: Change): Solved {
  const causes = new Map<Pod, UnschedulableCause>(base.snapshot.ignored ?? [])
  const solver = new Solver(base, change)
  const { isStopped: stopped, claims, nodes, failed: unplaced, heavyPods } = solver.run()
  const { context: pass } = solver
  const newNodeClaims: PlannedNodeClaim[] = []
  const places: ClaimPlace[] = []
  for (const claim of claims) {
    const result = base.finisher.finish(claim)
    if (result.kind === 'claim') {
      newNodeClaims.push(result.claim)
      places.push(claim)
    } else for (const pod of claim.pods) causes.set(pod, result.cause)
  }
  const explanations = new Explanations(pass)
  const { postponed, tooHeavy } = heavyPods
  if (tooHeavy !== undefined) causes.set(tooHeavy.pod, { kind: 'takes-too-long', what: 'pass' })
  const { inHand } = base.options
  const explain = (one: Waiting) => {
    inHand?.(one.pod)
    const cause = explanations.of(one)
    inHand?.(undefined)
    return cause
  }
  const failed = [...unplaced].map((one) => unschedulable(one.pod, () => explain(one)))
  const plan = {
    newNodeClaims,
    existing: nodes.map(({ node: { name, nodeClaim }, pods }) => ({
      node: name,
      ...(nodeClaim === undefined ? {} : { nodeClaim }),
      pods,
    })),
    unschedulable: listed(causes),
    incompatiblePools: incompatible(pass),
    ...(postponed.length === 0 ? {} : { postponed }),
    stopped,
  }
  return { plan, failed, places, unplaced, pass }
}

/** The plan where no pool can grow. */
export function withoutPools({ ignored = new Map() }: SchedulingSnapshot, pods: readonly Pod[]): SchedulingPlan {
  const failed = pods.map((pod) => [pod, { kind: 'no-node-pools' }] as const)
  return { newNodeClaims: [], existing: [], unschedulable: listed(new Map([...ignored, ...failed])), stopped: false }
}

/** A pool that has no types at all, for now, is not to blame. */
function incompatible({ pools }: FinishedPass): NonNullable<SchedulingPlan['incompatiblePools']> {
  const isNone = (types: Uint32Array) => types.every((word) => word === 0)
  return pools
    .filter(({ usable, option }) => option.instanceTypes.length > 0 && isNone(usable))
    .map(({ name, set, index }) => ({ nodePool: name, byMinValues: !isNone(index.typesOf(index.matching(set))) }))
}

function listed(causes: ReadonlyMap<Pod, UnschedulableCause>): SchedulingPlan['unschedulable'] {
  return [...causes].map(([pod, cause]) => ({ pod, cause }))
}
