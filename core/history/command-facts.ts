import type { CommandFacts } from './life.ts'
import { oneLine } from './record.ts'
import { namesText } from './texts.ts'

interface Command extends Pick<CommandFacts, 'id' | 'method' | 'reason' | 'decision' | 'savings'> {
  readonly candidates: readonly { readonly name: string }[]
  readonly replacements: readonly { readonly name: string }[]
}

/** Names of NodeClaims have up to 253 characters; both lists together stay below a memo's limit. */
const mostNames = 20
const mostNameChars = 1200

/** Returns the facts of a command that starts. */
export function commandFacts(command: Command, startedMs: number): CommandFacts {
  const { id, method, reason, decision, candidates, replacements, savings } = command
  return {
    id,
    method,
    reason,
    decision,
    candidates: firstNames(candidates),
    replacements: firstNames(replacements),
    savings,
    startedMs,
  }
}

/** Returns the facts of a command that waits for its commit, which comes `delayMs` after its start. */
export function proposedFacts(
  proposal: Omit<Command, 'replacements'>,
  startedMs: number,
  delayMs: number,
): CommandFacts {
  return { ...commandFacts({ ...proposal, replacements: [] }, startedMs), dueMs: startedMs + delayMs }
}

/** The line that Temporal's list shows of a command. */
export function commandSummary({ reason, decision, candidates }: Pick<Command, 'reason' | 'decision' | 'candidates'>) {
  return oneLine(`${reason}: ${decision} ${namesText(candidates.map(({ name }) => name))}`)
}

/** Returns the facts of a command that ended. `why`: it was undone. */
export function endedCommand(
  facts: CommandFacts,
  endedMs: number,
  { outcome, why }: { readonly outcome: 'done' | 'undone'; readonly why: string },
): CommandFacts {
  return { ...facts, endedMs, outcome, ...(outcome === 'undone' ? { message: oneLine(why) } : {}) }
}

function firstNames(refs: readonly { readonly name: string }[]): readonly string[] {
  let chars = 0
  return refs
    .slice(0, mostNames)
    .map(({ name }) => name)
    .filter((name) => {
      chars += name.length + 3
      return chars <= mostNameChars
    })
}
