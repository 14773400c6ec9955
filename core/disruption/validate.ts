import { remainingBudgets } from './budgets/pool-budgets.ts'
import { type Decision, type DisruptionCommand, type DisruptionMethod, methodFacts } from './command.ts'
import { methodContext } from './evaluate.ts'
import type { FilterSettings } from './filters.ts'
import { candidatesFor } from './method-candidates.ts'
import type { MethodSettings, Note } from './methods/context.ts'
import { methods } from './methods/methods.ts'
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
  const method = methods[proposed.method]
  const { reason, holdsInPart } = methodFacts[proposed.method]
  const { eligible, candidates: all, blocked } = candidatesFor(method, view, settings)
  const uids = new Set(proposed.candidates)
  const candidates = all.filter(({ nodeClaim }) => uids.has(nodeClaim.metadata.uid))
  const missing = uids.size - candidates.length
  if (candidates.length === 0 || (!holdsInPart && missing > 0)) {
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
  const budgets = remainingBudgets(view, reason)
  const context = methodContext(() => world, settings, { eligible, budgets, note: (note) => notes.push(note) })
  const isPossible = !method.simulates || world.simulator.hasPools
  const command = isPossible ? method.revalidate(candidates, context) : undefined
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

/** Another kind of outcome may be better still, but it was not what was announced: the next pass finds it. */
function sameOutcome({ decision, replacements }: Proposed, command: DisruptionCommand): Validation {
  if (command.decision === decision && command.replacements.length <= replacements) return { kind: 'valid', command }
  return { kind: 'invalid', reason: 'scheduling', message: 'scheduling simulation produced new results' }
}
