import { isApproved, scoreText } from '../balanced.ts'
import type { Candidate } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { consolidate, replacementsOf } from '../consolidation.ts'
import { bySavings, type MethodContext, noteBudget, poolOf, takeBudget } from './method.ts'

/** The first node that can go or be replaced by a cheaper one (reference/karpenter-core.md 4.8). */
export function singleNode(candidates: readonly Candidate[], context: MethodContext): readonly DisruptionCommand[] {
  for (const candidate of interleaved(candidates)) {
    const command = consolidateOne(candidate, context)
    if (command !== undefined) return [command]
  }
  return []
}

/** Each pool's candidates in their order, the pools by turns, so that a large one keeps none waiting. */
export function interleaved(candidates: readonly Candidate[]): readonly Candidate[] {
  const pools = [...Map.groupBy(bySavings(candidates), poolOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, own]) => own)
  const longest = Math.max(0, ...pools.map(({ length }) => length))
  return Array.from({ length: longest }).flatMap((_, at) => pools.flatMap((own) => own[at] ?? []))
}

/** The command for one node, taken off its budget; undefined: nothing can be done, which has been noted. */
export function consolidateOne(candidate: Candidate, context: MethodContext): DisruptionCommand | undefined {
  const { balanced, simulator, settings, note } = context
  if ((context.budgets.get(poolOf(candidate)) ?? 0) <= 0) {
    noteBudget(context, candidate)
    return undefined
  }
  if (!balanced.mayPass(candidate)) {
    note({ candidate, outcome: 'rejected', message: 'even deleting it would save too little for the disruption' })
    return undefined
  }
  const consolidation = consolidate([candidate], simulator, settings)
  if (consolidation.kind === 'none') {
    const { message, problems } = consolidation
    note({ candidate, outcome: 'hindered', message, problems, event: 'Unconsolidatable' })
    return undefined
  }
  const candidates = [candidate]
  const replacements = replacementsOf(consolidation, settings)
  const savings = savingsOf(candidates, replacements)
  const scores = balanced.scores(candidates, savings)
  if (!scores.every(isApproved)) {
    const message = `the move saves too little: ${scores.map(scoreText).join('; ')}`
    note({ candidate, outcome: 'rejected', message, scores })
    return undefined
  }
  takeBudget(context, candidate)
  const { kind: decision, plan } = consolidation
  note({ candidate, outcome: 'chosen', decision, message: 'the node is underutilized', scores })
  return { method: 'single-node', decision, candidates, replacements, savings, plan, scores }
}
