import { type Candidate, type DisruptionView, isEmpty } from '../candidates.ts'
import { type DisruptionCommand, savingsOf } from '../command.ts'
import { type FilterSettings, isConsolidatable } from '../filters.ts'
import { mostNamedPods } from '../verdicts/cause.ts'
import { disabled, isDisabled, notConsolidated } from './consolidating.ts'
import { bySavings, type MethodContext, noteBudget, takeBudget } from './context.ts'
import { firstOf, type Method, type Suitability, unsuitable } from './method.ts'

/** Yields one command for all empty nodes within budgets. Nothing is simulated where nothing has to move (reference/karpenter-core.md 4.8). */
function* compute(candidates: readonly Candidate[], context: MethodContext): Iterable<DisruptionCommand> {
  const chosen: Candidate[] = []
  for (const candidate of bySavings(candidates)) {
    if (!takeBudget(context, candidate)) {
      noteBudget(context, candidate)
      continue
    }
    chosen.push(candidate)
    context.note({ candidate, outcome: 'chosen', decision: 'delete', cause: { kind: 'chosen-empty' } })
  }
  if (chosen.length === 0) return
  const savings = savingsOf(chosen, [])
  yield { method: 'emptiness', decision: 'delete', candidates: chosen, replacements: [], savings }
}

function suits(
  candidate: Candidate,
  settings: FilterSettings,
  { buffersOn }: Pick<DisruptionView, 'buffersOn'>,
): Suitability {
  if (candidate.nodePool.isStatic) return false
  if (isDisabled(candidate)) return disabled(candidate)
  if (!isEmpty(candidate) || !isConsolidatable(candidate, settings)) return false
  // Where its virtual pods find room elsewhere, they are placed there, and the node is free.
  const node = candidate.node.metadata.name
  const buffers = buffersOn?.(node) ?? []
  return buffers.length === 0 ? true : { kind: 'buffer-pods', node, buffers: buffers.slice(0, mostNamedPods) }
}

export const emptiness = {
  name: 'emptiness',
  simulates: false,
  suits,
  compute,
  revalidate: (candidates, context) => firstOf(compute(candidates, context)),
  explain: (node) => notConsolidated(node) ?? unsuitable({ kind: 'not-empty' }),
} as const satisfies Method
