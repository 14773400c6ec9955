import { conditionOf } from '../../conditions.ts'
import type { Candidate } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { problemsText, reservationOf, type Simulation } from '../simulation.ts'
import { type MethodContext, noteBudget, poolOf, takeBudget } from './method.ts'

/** The first drifted node that can be replaced, one command for it (reference/karpenter-core.md 4.8). */
export function drift(candidates: readonly Candidate[], context: MethodContext): readonly DisruptionCommand[] {
  for (const candidate of inOrder(candidates)) {
    const command = replaceDrifted(candidate, context)
    if (command !== undefined) return [command]
  }
  return []
}

/** Nodes without pods first, lest pods move to nodes that go next; then those that drifted first. */
export function inOrder(candidates: readonly Candidate[]): readonly Candidate[] {
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

/** The command for one drifted node, taken off its budget; undefined: it has to wait, and has been noted. */
export function replaceDrifted(candidate: Candidate, context: MethodContext): DisruptionCommand | undefined {
  if ((context.budgets.get(poolOf(candidate)) ?? 0) <= 0) {
    noteBudget(context, candidate)
    return undefined
  }
  const simulation = context.simulator.without([candidate], { isConsolidation: false })
  if (simulation.problems.length === 0) {
    const replacements = replacementsFor(candidate, simulation, context)
    return command(candidate, replacements.length === 0 ? 'delete' : 'replace', replacements, simulation, context)
  }
  const refilled = refillable(candidate, context)
  if (refilled !== undefined) return command(candidate, 'terminate-first', [], refilled, context)
  const { problems } = simulation
  context.note({
    candidate,
    outcome: 'hindered',
    message: problemsText(problems),
    problems,
    event: 'DisruptionBlocked',
  })
  return undefined
}

function replacementsFor(
  { node }: Candidate,
  { plan: { newNodeClaims } }: Simulation,
  { settings }: MethodContext,
): DisruptionCommand['replacements'] {
  if (settings.leavesOthersPods !== true) return newNodeClaims
  return newNodeClaims.filter(({ pods }) => pods.some(({ nodeName }) => nodeName === node.metadata.name))
}

function command(
  candidate: Candidate,
  decision: DisruptionCommand['decision'],
  replacements: DisruptionCommand['replacements'],
  { plan }: Simulation,
  context: MethodContext,
): DisruptionCommand {
  takeBudget(context, candidate)
  context.note({ candidate, outcome: 'chosen', decision, message: 'the node has drifted' })
  const candidates = [candidate]
  return { method: 'drift', decision, candidates, replacements, savings: savingsOf(candidates, replacements), plan }
}

/** Where the pods go if the node's place in its full reservation is free again; undefined: not even then (reference/karpenter-1.15.md 4.8b). */
function refillable(candidate: Candidate, { settings, simulator }: MethodContext): Simulation | undefined {
  const reservation = reservationOf(candidate, settings.scheduling)
  if (!settings.terminateFirst || reservation === undefined) return undefined
  const freed = simulator.crediting(reservation).without([candidate], { isConsolidation: false })
  return freed.problems.length === 0 ? freed : undefined
}
