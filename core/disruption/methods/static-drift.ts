import { isTrue } from '../../conditions.ts'
import { staticClaim } from '../../static-capacity/static-claim.ts'
import type { Candidate } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { type MethodContext, poolOf, takeBudget, waitsForTrial } from './context.ts'
import { firstOf, type Method, notLookedAt, unsuitable } from './method.ts'
import { countsOf, roomOf } from './static-counts.ts'
import { byReservation, type Gated, hindranceOf, type Shortage, shortageOf } from './terminate-first.ts'

/** Yields a replacement from the template for each drifted node of a static pool, within budget and node limit (reference/karpenter-core.md 4.8). */
function* compute(candidates: readonly Candidate[], context: MethodContext): Iterable<DisruptionCommand> {
  const trials = { begun: new Set<string>(), reported: new Set<string>() }
  for (const [pool, own] of Map.groupBy(candidates, poolOf)) {
    const { name } = (own[0] as Candidate).nodePool.template.spec.nodeClassRef
    const isOnTrial = context.settings.imageTrials?.has(name) === true
    const allowed = own.filter((candidate) => !waitsForTrial(context, candidate, trials))
    const commands = ofPool(pool, isOnTrial ? allowed.slice(0, 1) : allowed, context)
    if (commands.length > 0) trials.begun.add(name)
    yield* commands
  }
}

function ofPool(pool: string, own: readonly Candidate[], context: MethodContext): readonly DisruptionCommand[] {
  const budget = context.budgets.get(pool) ?? 0
  const [first] = own
  if (first === undefined) return []
  const { nodePool } = first
  const counts = countsOf(pool, context.view)
  // Scaling down comes first.
  if (budget === 0 || counts.active + counts.leaving > (nodePool.replicas ?? 0)) return []
  const gated = { ...context, isGateOn: context.settings.terminateFirst.drift }
  const shortage = shortageOf(nodePool, counts, gated)
  if (shortage !== undefined)
    return withoutRoom(byReservation(own, shortage, context).slice(0, budget), shortage, gated)
  return own.slice(0, Math.min(budget, roomOf(nodePool, counts))).map((one) => replace(one, context))
}

/** Returns deletions of nodes that must go before there is room for others. */
function withoutRoom(
  candidates: readonly Candidate[],
  shortage: Shortage,
  context: Gated,
): readonly DisruptionCommand[] {
  return candidates.flatMap((candidate) => {
    const cause = hindranceOf(candidate, shortage, context)
    if (cause === undefined) return [chosen(bare(candidate), context)]
    context.note({ candidate, outcome: 'hindered', cause, event: 'DisruptionBlocked' })
    return []
  })
}

function replace(candidate: Candidate, context: MethodContext): DisruptionCommand {
  const replacements = [staticClaim(candidate.nodePool)]
  return chosen(
    { ...bare(candidate), decision: 'replace', replacements, savings: savingsOf([candidate], replacements) },
    context,
  )
}

/** Returns the deletion alone: the pool is filled again. */
function bare(candidate: Candidate): DisruptionCommand {
  const savings = savingsOf([candidate], [])
  return { method: 'static-drift', decision: 'terminate-first', candidates: [candidate], replacements: [], savings }
}

function chosen(command: DisruptionCommand, context: MethodContext): DisruptionCommand {
  for (const candidate of command.candidates) {
    takeBudget(context, candidate)
    context.note({ candidate, outcome: 'chosen', decision: command.decision, cause: { kind: 'chosen-drifted' } })
  }
  return command
}

export const staticDrift = {
  name: 'static-drift',
  simulates: false,
  suits: ({ nodePool, nodeClaim }) => nodePool.isStatic && isTrue(nodeClaim.status.conditions, 'Drifted'),
  compute,
  revalidate: (candidates, context) => firstOf(compute(candidates, context)),
  explain: ({ claim, nodePool }) => {
    if (nodePool?.isStatic !== true) return unsuitable({ kind: 'no-static-pool' })
    if (!isTrue(claim.status.conditions, 'Drifted')) return unsuitable({ kind: 'not-drifted' })
    return notLookedAt({ kind: 'other-static-first' })
  },
} as const satisfies Method
