import { conditionOf, isTrue } from '../../conditions.ts'
import type { Candidate } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { type Simulation, withoutPlace } from '../simulation.ts'
import { hasBudget, type MethodContext, noteBudget, poolOf, takeBudget, waitsForTrial } from './context.ts'
import { type Explanation, type Method, notLookedAt, type Unnoted, unsuitable } from './method.ts'
import { refillable } from './terminate-first.ts'

/** Yields a command for each drifted node that can be replaced (reference/karpenter-core.md 4.8). */
function* compute(candidates: readonly Candidate[], context: MethodContext): Iterable<DisruptionCommand> {
  const left = sharesOf(context)
  const trials = { begun: new Set<string>(), reported: new Set<string>() }
  for (const candidate of inOrder(candidates)) {
    const share = left.get(poolOf(candidate)) ?? 0
    if (share <= 0 || waitsForTrial(context, candidate, trials)) continue
    const command = replace(candidate, context)
    if (command === undefined) continue
    left.set(poolOf(candidate), share - 1)
    trials.begun.add(candidate.nodePool.template.spec.nodeClassRef.name)
    yield command
  }
}

/** Returns how many nodes of each pool a rollout begins with now. */
function sharesOf({ poolBudgets, settings: { policy } }: MethodContext): Map<string, number> {
  const { driftShare } = policy
  return new Map(
    [...poolBudgets].map(([pool, { allowed }]) => [
      pool,
      driftShare === undefined ? Number.POSITIVE_INFINITY : Math.ceil(allowed * driftShare),
    ]),
  )
}

/** Sorts nodes without pods first, so that pods do not move to nodes that go next; then by time of drift. */
function inOrder(candidates: readonly Candidate[]): readonly Candidate[] {
  const key = (one: Candidate) => ({
    one,
    hasPods: Number(one.reschedulable.length > 0),
    since: Date.parse(conditionOf(one.nodeClaim.status.conditions, 'Drifted')?.lastTransitionTime ?? ''),
    name: one.node.metadata.name,
  })
  return candidates
    .map(key)
    .sort((a, b) => a.hasPods - b.hasPods || a.since - b.since || (a.name < b.name ? -1 : 1))
    .map(({ one }) => one)
}

/** Returns the command for one drifted node and subtracts it from its budget; undefined when it has to wait, which is recorded. */
function replace(candidate: Candidate, context: MethodContext): DisruptionCommand | undefined {
  if (!hasBudget(context, candidate)) {
    noteBudget(context, candidate)
    return undefined
  }
  const simulation = context.simulator.without([candidate], { isConsolidation: false })
  if (simulation.problems.length === 0) {
    const replacements = replacementsFor(candidate, simulation, context)
    const decision = replacements.length === 0 ? 'delete' : 'replace'
    return decided(candidate, { decision, replacements, plan: simulation.plan }, context)
  }
  const refilled = context.settings.terminateFirst.drift
    ? refillable(candidate, context, { isConsolidation: false })
    : undefined
  if (refilled !== undefined)
    return decided(candidate, { decision: 'terminate-first', replacements: [], plan: refilled.plan }, context)
  const cause = withoutPlace(simulation.problems)
  context.note({ candidate, outcome: 'hindered', cause, event: 'DisruptionBlocked' })
  return undefined
}

function replacementsFor(
  { node }: Candidate,
  { plan: { newNodeClaims } }: Simulation,
  { settings }: MethodContext,
): DisruptionCommand['replacements'] {
  if (!settings.policy.leavesOthersPods) return newNodeClaims
  return newNodeClaims.filter(({ pods }) => pods.some(({ nodeName }) => nodeName === node.metadata.name))
}

/** Returns the decision and subtracts it from the candidate's budget. */
function decided(
  candidate: Candidate,
  { decision, replacements, plan }: Pick<DisruptionCommand, 'decision' | 'replacements' | 'plan'>,
  context: MethodContext,
): DisruptionCommand {
  takeBudget(context, candidate)
  context.note({ candidate, outcome: 'chosen', decision, cause: { kind: 'chosen-drifted' } })
  const savings = savingsOf([candidate], replacements)
  return { method: 'drift', decision, candidates: [candidate], replacements, savings, ...(plan && { plan }) }
}

function explain({ claim, nodePool }: Unnoted): Explanation {
  if (!isTrue(claim.status.conditions, 'Drifted')) return unsuitable({ kind: 'not-drifted' })
  if (nodePool?.isStatic === true) return unsuitable({ kind: 'static-pool-not-replaced' })
  return notLookedAt({ kind: 'other-drifted-first' })
}

export const drift = {
  name: 'drift',
  simulates: true,
  suits: ({ nodePool, nodeClaim }) => !nodePool.isStatic && isTrue(nodeClaim.status.conditions, 'Drifted'),
  compute,
  revalidate: ([candidate], context) => candidate && replace(candidate, context),
  explain,
} as const satisfies Method
