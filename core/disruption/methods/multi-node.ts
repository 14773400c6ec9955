import { compatibleOfferings } from '../../instance-type.ts'
import { requirementsOfLabels } from '../../requirements/requirements.ts'
import type { Candidate } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { type Consolidation, consolidate, replacementsOf } from '../consolidation.ts'
import { below } from '../replacement.ts'
import { isApproved, type Score } from '../score.ts'
import { explainUnderutilized, suitsUnderutilized } from './consolidating.ts'
import { bySavings, type MethodContext, noteBudget, takeBudget } from './context.ts'
import type { Method } from './method.ts'

/**
 * Yields the longest prefix of nodes that can go together for at most one cheaper node. It is found by halving, so it has at least two
 * (reference/karpenter-core.md 4.8).
 */
function* compute(candidates: readonly Candidate[], context: MethodContext): Iterable<DisruptionCommand> {
  const within = bySavings(candidates).filter((candidate) => {
    if (takeBudget(context, candidate)) return true
    noteBudget(context, candidate)
    return false
  })
  let [least, most] = [1, Math.min(within.length - 1, context.settings.policy.maxMultiNodeCandidates)]
  let best: DisruptionCommand | undefined
  while (least <= most) {
    const middle = Math.floor((least + most) / 2)
    const command = together(within.slice(0, middle + 1), context)
    if (command === undefined) most = middle - 1
    else {
      best = command
      least = middle + 1
    }
  }
  if (best === undefined) return
  const { decision, candidates: chosen } = best
  const cause = { kind: 'chosen-together', nodes: chosen.length } as const
  for (const candidate of chosen) context.note({ candidate, outcome: 'chosen', decision, cause })
  yield best
}

/** Returns the command for exactly these nodes together, when budgets allow all of them. */
function revalidate(candidates: readonly Candidate[], context: MethodContext): DisruptionCommand | undefined {
  for (const candidate of candidates) {
    if (takeBudget(context, candidate)) continue
    noteBudget(context, candidate)
    return undefined
  }
  return together(candidates, context)
}

function together(candidates: readonly Candidate[], context: MethodContext): DisruptionCommand | undefined {
  const { simulator, settings, balanced } = context
  const consolidation = sensible(consolidate(candidates, simulator, settings), candidates, context)
  if (consolidation.kind === 'none') return undefined
  const replacements = replacementsOf(consolidation, settings)
  const savings = savingsOf(candidates, replacements)
  const scores: readonly Score[] = balanced.scores(candidates, savings)
  if (!scores.every(isApproved)) return undefined
  const { kind: decision, plan } = consolidation
  return { method: 'multi-node', decision, candidates, replacements, savings, plan, scores }
}

/**
 * A replacement of the same type as one of the nodes keeps that node and moves more pods. So only types cheaper than the cheapest such node are
 * sensible.
 */
function sensible(
  consolidation: Consolidation,
  candidates: readonly Candidate[],
  context: MethodContext,
): Consolidation {
  if (consolidation.kind !== 'replace') return consolidation
  const { replacement } = consolidation
  const { wellKnown } = context.settings
  const kept = new Map<string, number>()
  for (const { instanceType, node } of candidates) {
    if (instanceType === undefined) continue
    const offerings = compatibleOfferings(instanceType, requirementsOfLabels(node.metadata.labels), wellKnown)
    const before = kept.get(instanceType.name) ?? Number.POSITIVE_INFINITY
    kept.set(instanceType.name, Math.min(before, ...offerings.map(({ price }) => price)))
  }
  // As upstream, a node with an unknown price counts as free.
  const own = replacement.types.flatMap(({ name }) => kept.get(name) ?? [])
  const limit = Math.min(Number.POSITIVE_INFINITY, ...own.map((price) => (Number.isFinite(price) ? price : 0)))
  const priced = below(replacement, limit, context.settings)
  if (priced.kind === 'short') return { kind: 'none', cause: { kind: 'min-values', labels: priced.labels } }
  if (priced.replacement.types.length === 0) return { kind: 'none', cause: { kind: 'nothing-cheaper-than-one' } }
  return { ...consolidation, replacement: priced.replacement }
}

export const multiNode = {
  name: 'multi-node',
  simulates: true,
  suits: suitsUnderutilized,
  compute,
  revalidate,
  explain: (node) => explainUnderutilized(node, { kind: 'no-set-of-nodes' }),
} as const satisfies Method
