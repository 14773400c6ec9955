import type { Candidate } from './candidates.ts'
import { type Decision, type DisruptionCommand, type DisruptionMethod, methodFacts } from './command.ts'
import { candidatesFor, methodContext, remainingBudgets } from './evaluate-method.ts'
import type { FilterSettings } from './filters.ts'
import { replaceDrifted } from './methods/drift.ts'
import { emptiness } from './methods/emptiness.ts'
import { type MethodContext, type MethodSettings, type Note, takeBudget } from './methods/method.ts'
import { together } from './methods/multi-node.ts'
import { consolidateOne } from './methods/single-node.ts'
import { type DisruptionWorld, worldAfter } from './world.ts'

/** A command as it was proposed. */
export interface Proposed {
  readonly method: DisruptionMethod
  readonly decision: Decision
  /** UIDs of the candidates' NodeClaims. */
  readonly candidates: readonly string[]
  readonly replacements: number
}

export type Validation =
  /** The command as the cluster is now; of an empty one, the part that still holds. */
  | { readonly kind: 'valid'; readonly command: DisruptionCommand }
  /** As the event ConsolidationRejected names the reason (reference/karpenter-core.md 4.9). */
  | { readonly kind: 'invalid'; readonly reason: 'budget' | 'scheduling' | 'churn'; readonly message: string }

/**
 * Whether a proposal still holds in the cluster as it is now: its nodes may still be disrupted, budgets allow it, and a new simulation comes
 * to the same (reference/karpenter-core.md 4.9). What is launched then is what this simulation found.
 */
export function validate(
  proposed: Proposed,
  world: DisruptionWorld,
  settings: MethodSettings & FilterSettings,
): Validation {
  const { view } = world
  const { method } = proposed
  const { eligible, candidates: all, blocked } = candidatesFor(method, view, settings)
  const uids = new Set(proposed.candidates)
  const candidates = all.filter(({ nodeClaim }) => uids.has(nodeClaim.metadata.uid))
  const missing = uids.size - candidates.length
  if (candidates.length === 0 || (method !== 'emptiness' && missing > 0)) {
    const names = new Set(
      view.nodes.flatMap(({ claim }) =>
        claim !== undefined && uids.has(claim.metadata.uid) ? [claim.metadata.name] : [],
      ),
    )
    const why = blocked.find(({ object }) => object.kind === 'NodeClaim' && names.has(object.name))
    const because = why === undefined ? '' : ` (${why.object.name}: ${why.message})`
    return { kind: 'invalid', reason: 'churn', message: `${missing} candidates are no longer valid${because}` }
  }
  const notes: Note[] = []
  const budgets = remainingBudgets(view, methodFacts[method].reason)
  const context = methodContext(world, settings, { eligible, budgets, note: (note) => notes.push(note) })
  const command = decide(method, candidates, context)
  if (command !== undefined) return sameOutcome(proposed, command)
  const note = notes.find(({ outcome }) => outcome !== 'chosen')
  if (note?.outcome === 'budget')
    return {
      kind: 'invalid',
      reason: 'budget',
      message: 'a candidate can no longer be disrupted without violating budgets',
    }
  return { kind: 'invalid', reason: 'scheduling', message: note?.message ?? 'the nodes cannot go together any more' }
}

/** Validates proposals of one evaluation, each with those before it decided that still hold. */
export function validateTogether(
  proposals: readonly Proposed[],
  world: DisruptionWorld,
  settings: MethodSettings & FilterSettings,
): readonly Validation[] {
  let current = world
  return proposals.map((proposed) => {
    const validation = validate(proposed, current, settings)
    if (validation.kind === 'valid') current = worldAfter(current, validation.command)
    return validation
  })
}

function decide(
  method: DisruptionMethod,
  candidates: readonly Candidate[],
  context: MethodContext,
): DisruptionCommand | undefined {
  if (method === 'emptiness') return emptiness(candidates, context)[0]
  if (!context.simulator.hasPools) return undefined
  if (method === 'drift') return replaceDrifted(candidates[0] as Candidate, context)
  if (method === 'single-node') return consolidateOne(candidates[0] as Candidate, context)
  for (const candidate of candidates) {
    if (takeBudget(context, candidate)) continue
    context.note({ candidate, outcome: 'budget', message: '' })
    return undefined
  }
  return together(candidates, context)
}

/** Another kind of outcome may be better still, but it was not what was announced: the next pass finds it. */
function sameOutcome({ decision, replacements }: Proposed, command: DisruptionCommand): Validation {
  if (command.decision === decision && command.replacements.length <= replacements) return { kind: 'valid', command }
  return { kind: 'invalid', reason: 'scheduling', message: 'scheduling simulation produced new results' }
}
