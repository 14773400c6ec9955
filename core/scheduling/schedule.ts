import type { Pod } from '../objects.ts'
import type { PlannedNodeClaim, SchedulingOptions, SchedulingPlan, SchedulingSnapshot } from './snapshot.ts'
import { Explanations } from './solver/explanations.ts'
import { ClaimFinisher } from './solver/planned-claims.ts'
import { Solver } from './solver/solver.ts'

/**
 * Places pods: on existing nodes first, then on claims that the pass has opened, then on a new claim of the first NodePool that can have
 * one. The same snapshot gives the same plan, in whatever order its lists are (reference/karpenter-core.md 3.2-3.12; docs/scheduler.md).
 */
export function schedule(snapshot: SchedulingSnapshot, options: SchedulingOptions = {}): SchedulingPlan {
  const messages = new Map<Pod, string>(snapshot.ignored ?? [])
  if (snapshot.nodePools.length === 0) return withoutPools(snapshot, messages)
  const solver = new Solver(snapshot, options)
  const stopped = solver.run()
  const newNodeClaims: PlannedNodeClaim[] = []
  const finisher = new ClaimFinisher(solver.sets, options)
  for (const claim of solver.claims) {
    const result = finisher.finish(claim)
    if (result.kind === 'claim') newNodeClaims.push(result.claim)
    else for (const pod of claim.pods) messages.set(pod, result.message)
  }
  const explanations = new Explanations(solver)
  for (const one of solver.failed) messages.set(one.pod, explanations.of(one))
  return {
    newNodeClaims,
    existing: solver.nodes
      .filter(({ pods }) => pods.length > 0)
      .map(({ node: { name, nodeClaim }, pods }) => ({
        node: name,
        ...(nodeClaim === undefined ? {} : { nodeClaim }),
        pods,
      })),
    unschedulable: listed(messages),
    stopped,
  }
}

function withoutPools({ pods }: SchedulingSnapshot, messages: Map<Pod, string>): SchedulingPlan {
  for (const pod of pods) messages.set(pod, 'no dynamic nodepools found')
  return { newNodeClaims: [], existing: [], unschedulable: listed(messages), stopped: false }
}

function listed(messages: ReadonlyMap<Pod, string>): SchedulingPlan['unschedulable'] {
  return [...messages].map(([pod, message]) => ({ pod, message }))
}
