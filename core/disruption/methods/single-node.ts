import { type Candidate, isMarked } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { consolidate, replacementsOf } from '../consolidation.ts'
import { isApproved } from '../score.ts'
import { explainUnderutilized, suitsUnderutilized } from './consolidating.ts'
import { bySavings, hasBudget, type MethodContext, noteBudget, poolOf, takeBudget } from './context.ts'
import type { Method } from './method.ts'

/** Yields a command for each node that can go or be replaced by a cheaper one (reference/karpenter-core.md 4.8). */
function* compute(candidates: readonly Candidate[], context: MethodContext): Iterable<DisruptionCommand> {
  for (const candidate of interleaved(candidates)) {
    const { node, nodeClaim } = candidate
    // An earlier command moves pods to the node, or takes it. The next evaluation decides on its new state.
    if (context.view.nominated.has(node.metadata.name) || isMarked(nodeClaim, node, context.view)) continue
    const command = consolidateOne(candidate, context)
    if (command !== undefined) yield command
  }
}

/** Interleaves the pools' candidates in their order, so that a large pool delays no other. */
function interleaved(candidates: readonly Candidate[]): readonly Candidate[] {
  const pools = [...Map.groupBy(bySavings(candidates), poolOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, own]) => own)
  const longest = Math.max(0, ...pools.map(({ length }) => length))
  return Array.from({ length: longest }).flatMap((_, at) => pools.flatMap((own) => own[at] ?? []))
}

/** Returns the command for one node and subtracts it from its budget; undefined when nothing can be done, which is recorded. */
function consolidateOne(candidate: Candidate, context: MethodContext): DisruptionCommand | undefined {
  const { balanced, simulator, settings, note } = context
  if (!hasBudget(context, candidate)) {
    noteBudget(context, candidate)
    return undefined
  }
  if (!balanced.mayPass(candidate)) {
    note({ candidate, outcome: 'rejected', cause: { kind: 'deletion-saves-too-little' } })
    return undefined
  }
  const consolidation = consolidate([candidate], simulator, settings)
  if (consolidation.kind === 'none') {
    note({ candidate, outcome: 'hindered', cause: consolidation.cause, event: 'Unconsolidatable' })
    return undefined
  }
  const candidates = [candidate]
  const replacements = replacementsOf(consolidation, settings)
  const savings = savingsOf(candidates, replacements)
  const scores = balanced.scores(candidates, savings)
  if (!scores.every(isApproved)) {
    const parts = scores.map(({ nodePool, savings: saved, disruption }) => ({ nodePool, savings: saved, disruption }))
    note({ candidate, outcome: 'rejected', cause: { kind: 'saves-too-little', scores: parts }, scores })
    return undefined
  }
  takeBudget(context, candidate)
  const { kind: decision, plan } = consolidation
  note({ candidate, outcome: 'chosen', decision, cause: { kind: 'chosen-underutilized' }, scores })
  return { method: 'single-node', decision, candidates, replacements, savings, plan, scores }
}

export const singleNode = {
  name: 'single-node',
  simulates: true,
  suits: suitsUnderutilized,
  compute,
  revalidate: ([candidate], context) => candidate && consolidateOne(candidate, context),
  explain: (node) => explainUnderutilized(node, { kind: 'pods-expected' }),
} as const satisfies Method
