import type { Candidate } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { bySavings, type MethodContext, noteBudget, takeBudget } from './method.ts'

/** One command for all empty nodes that the budgets let go; where nothing has to move nothing is simulated (reference/karpenter-core.md 4.8). */
export function emptiness(candidates: readonly Candidate[], context: MethodContext): readonly DisruptionCommand[] {
  const chosen: Candidate[] = []
  for (const candidate of bySavings(candidates)) {
    if (!takeBudget(context, candidate)) {
      noteBudget(context, candidate)
      continue
    }
    chosen.push(candidate)
    context.note({ candidate, outcome: 'chosen', decision: 'delete', message: 'the node is empty' })
  }
  if (chosen.length === 0) return []
  return [
    {
      method: 'emptiness',
      decision: 'delete',
      candidates: chosen,
      replacements: [],
      savings: savingsOf(chosen, []),
    },
  ]
}
