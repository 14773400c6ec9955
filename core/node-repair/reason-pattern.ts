// A subset of RE2's syntax, matched in time that is linear in the text: an operator's pattern must not be able to stop planning. It has literals,
// `.`, classes, `\d \s \w` and their opposites, `^`, `$`, groups, `|`, `*`, `+`, `?`, `{m,n}` and a leading `(?i)`.

import { PatternError, type PatternNode, PatternParser } from './pattern-parser.ts'

/** A step of a compiled pattern. `next`: positions of the steps that follow. */
type Step =
  | { readonly kind: 'character'; readonly accepts: (code: string) => boolean; next: number }
  | { readonly kind: 'start' | 'end'; next: number }
  | { readonly kind: 'split'; next: number; other: number }
  | { readonly kind: 'match' }

/** Most characters of a pattern, and steps that it compiles to. */
const mostCharacters = 256
const mostSteps = 2000
/** Most characters of a reason that are matched; the API server accepts more, but no component writes them. */
const mostOfReason = 1024

export type CompiledPattern =
  | { readonly kind: 'pattern'; readonly matches: (reason: string) => boolean }
  | { readonly kind: 'invalid'; readonly message: string }

const compiled = new Map<string, CompiledPattern>()

/** Compiles a pattern, once for each text. */
export function reasonPattern(text: string): CompiledPattern {
  const known = compiled.get(text)
  if (known !== undefined) return known
  const result = compile(text)
  compiled.set(text, result)
  return result
}

function compile(text: string): CompiledPattern {
  if (text.length > mostCharacters)
    return { kind: 'invalid', message: `has ${text.length} characters; use at most ${mostCharacters}` }
  try {
    const steps = stepsOf(new PatternParser(text).parse())
    return { kind: 'pattern', matches: (reason) => run(steps, reason.slice(0, mostOfReason)) }
  } catch (error) {
    if (error instanceof PatternError) return { kind: 'invalid', message: error.message }
    throw error
  }
}

function stepsOf(root: PatternNode): readonly Step[] {
  const steps: Step[] = []
  const add = (step: Step) => {
    if (steps.length >= mostSteps) throw new PatternError(`repeats too much; it may have ${mostSteps} steps`)
    return steps.push(step) - 1
  }
  /** Adds the steps of a node before those at `next`, and returns where they begin. */
  const before = (node: PatternNode, next: number): number => {
    switch (node.kind) {
      case 'character':
        return add({ kind: 'character', accepts: node.accepts, next })
      case 'start':
      case 'end':
        return add({ kind: node.kind, next })
      case 'sequence':
        return node.parts.reduceRight((after, part) => before(part, after), next)
      case 'choice':
        return node.parts
          .map((part) => before(part, next))
          .reduce((one, other) => add({ kind: 'split', next: one, other }))
      case 'repeat':
        return repeated(node, next)
    }
  }
  const repeated = ({ part, least, most }: Extract<PatternNode, { kind: 'repeat' }>, next: number): number => {
    let at = next
    if (most === Number.POSITIVE_INFINITY) {
      const loop = add({ kind: 'split', next: 0, other: next })
      ;(steps[loop] as Extract<Step, { kind: 'split' }>).next = before(part, loop)
      at = loop
    } else
      for (let left = most - least; left > 0; left--) at = add({ kind: 'split', next: before(part, at), other: next })
    for (let left = least; left > 0; left--) at = before(part, at)
    return at
  }
  const match = add({ kind: 'match' })
  const begin = before(root, match)
  // The run starts at the first step.
  return [{ kind: 'split', next: begin + 1, other: begin + 1 }, ...steps.map((step) => moved(step))]
}

function moved(step: Step): Step {
  if (step.kind === 'match') return step
  return step.kind === 'split'
    ? { ...step, next: step.next + 1, other: step.other + 1 }
    : { ...step, next: step.next + 1 }
}

/** Follows all possibilities at once, so that no text takes longer than steps times characters. */
function run(steps: readonly Step[], text: string): boolean {
  const characters = Array.from(text)
  let current = new Set<number>()
  for (let at = 0; at <= characters.length; at++) {
    // A match may begin anywhere.
    const open = [...current, 0]
    const reached = new Set<number>()
    while (open.length > 0) {
      const index = open.pop() as number
      if (reached.has(index)) continue
      reached.add(index)
      const step = steps[index] as Step
      if (step.kind === 'match') return true
      if (step.kind === 'split') open.push(step.next, step.other)
      else if (step.kind === 'start' && at === 0) open.push(step.next)
      else if (step.kind === 'end' && at === characters.length) open.push(step.next)
    }
    const character = characters[at]
    current = new Set()
    if (character === undefined) return false
    for (const index of reached) {
      const step = steps[index] as Step
      if (step.kind === 'character' && step.accepts(character)) current.add(step.next)
    }
  }
  return false
}
