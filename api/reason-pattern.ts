import { RE2JS, RE2JSSyntaxException } from '@bufbuild/re2'
import type { RepairPolicy, RepairRule } from '../core/node-repair/repair-policy.ts'

/** Most characters of a pattern, and instructions that it compiles to: RE2 takes time in proportion to both. */
const mostCharacters = 256
const mostInstructions = 2000
/** Most characters of a reason that are matched; the API server accepts more, but no component writes them. */
const mostOfReason = 1024

/**
 * Returns what is wrong with a pattern for a condition's reason, and what to write; undefined: nothing. Patterns are RE2, as Karpenter's are, whose
 * time is linear in the text: an operator's pattern must not be able to stop planning.
 */
export function reasonPatternError(pattern: string): string | undefined {
  if (pattern.length > mostCharacters) return `has ${pattern.length} characters; use at most ${mostCharacters}`
  try {
    const { length } = RE2JS.compile(pattern).re2Input.prog.inst
    return length <= mostInstructions ? undefined : `repeats too much: ${length} steps; it may have ${mostInstructions}`
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return `is no RE2 pattern (${error.message}); correct it`
    throw error
  }
}

/** Returns policies with their compiled patterns, which `reasonPatternError` has to have passed. Policies go to another thread without them. */
export function repairRules(policies: readonly RepairPolicy[]): readonly RepairRule[] {
  return policies.map((policy) => ({ ...policy, matches: matcherOf(policy) }))
}

function matcherOf({ reasonPattern }: RepairPolicy): RepairRule['matches'] {
  if (reasonPattern === undefined) return () => false
  const compiled = RE2JS.compile(reasonPattern)
  return (reason) => compiled.test(reason.slice(0, mostOfReason))
}
