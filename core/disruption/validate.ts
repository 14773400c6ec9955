import { remainingBudgets } from './budgets/pool-budgets.ts'
import type { Blocked } from './candidates.ts'
import { type Decision, type DisruptionCommand, type DisruptionMethod, methodFacts } from './command.ts'
import { methodContext } from './evaluate.ts'
import type { FilterSettings } from './filters.ts'
import { candidatesFor } from './method-candidates.ts'
import type { MethodSettings, Note } from './methods/context.ts'
import { methods } from './methods/methods.ts'
import type { Cause } from './verdicts/cause.ts'
import { causeText } from './verdicts/cause-text.ts'
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
  /** The command in the present cluster; for emptiness, the part that still holds. */
  { readonly kind: 'valid'; readonly command: DisruptionCommand } | Invalid

/** Reasons are those of the event ConsolidationRejected (reference/karpenter-core.md 4.9). */
export type Invalid = { readonly kind: 'invalid' } & (
  | { readonly reason: 'budget' }
  | { readonly reason: 'churn'; readonly change: Churn }
  /** `new-results`: another kind of outcome, or more replacements. */
  | { readonly reason: 'scheduling'; readonly cause: Cause | { readonly kind: 'new-results' } | undefined }
)

/** Change of candidates since they were proposed. */
type Churn =
  | { readonly kind: 'missing'; readonly candidates: number; readonly example: Blocked | undefined }
  /** A candidate went away while the others were validated. */
  | { readonly kind: 'gone' }

/**
 * Validates a proposal in the present cluster: its nodes may still be disrupted, budgets allow it, and a new simulation has the same outcome
 * (reference/karpenter-core.md 4.9). The replacements launched are those of the new simulation.
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
    const example = blocked.find(({ object }) => object.kind === 'NodeClaim' && names.has(object.name))
    return { kind: 'invalid', reason: 'churn', change: { kind: 'missing', candidates: missing, example } }
  }
  const notes: Note[] = []
  const budgets = remainingBudgets(view, reason)
  const context = methodContext(() => world, settings, { eligible, budgets, note: (note) => notes.push(note) })
  const isPossible = !method.simulates || world.simulator.hasPools
  const command = isPossible ? method.revalidate(candidates, context) : undefined
  if (command !== undefined) return sameOutcome(proposed, command)
  const note = notes.find(({ outcome }) => outcome !== 'chosen')
  if (note?.outcome === 'budget') return { kind: 'invalid', reason: 'budget' }
  return { kind: 'invalid', reason: 'scheduling', cause: note?.cause }
}

/** Returns why a proposal no longer holds, for logs and requests. */
export function invalidText(invalid: Invalid): string {
  if (invalid.reason === 'budget') return 'a candidate can no longer be disrupted without violating budgets'
  if (invalid.reason === 'churn') return churnText(invalid.change)
  const { cause } = invalid
  if (cause === undefined) return 'the nodes cannot go together any more'
  return cause.kind === 'new-results' ? 'scheduling simulation produced new results' : causeText(cause)
}

function churnText(change: Churn): string {
  if (change.kind === 'gone') return 'a candidate went away while it was looked at'
  const { candidates, example } = change
  const because = example === undefined ? '' : ` (${example.object.name}: ${causeText(example.cause)})`
  return `${candidates} candidates are no longer valid${because}`
}

/** Validates proposals of one evaluation in order, each with the earlier valid ones decided. */
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

/** Another kind of outcome may be better, but it was not announced: the next pass finds it. */
function sameOutcome({ decision, replacements }: Proposed, command: DisruptionCommand): Validation {
  if (command.decision === decision && command.replacements.length <= replacements) return { kind: 'valid', command }
  return { kind: 'invalid', reason: 'scheduling', cause: { kind: 'new-results' } }
}
