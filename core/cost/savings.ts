import type { CommandFacts, Life } from '../history/life.ts'
import { hourMs, type TimeRange } from './bill.ts'

/** The saving of a command is counted for so long at most: by then the pods are others, and nobody can say what would have been. */
const longestSavingMs = 24 * hourMs

/** What a command saved within a window. */
export interface Saving extends TimeRange {
  readonly command: CommandFacts
  /** USD; negative for a replacement that costs more, as drift makes them. */
  readonly usd: number
}

type DoneCommand = CommandFacts & { readonly endedMs: number }

/** A node less, from the end of its command until the NodePool takes one again. */
interface FreedNode {
  readonly fromMs: number
  toMs: number
}

/**
 * Returns what each command that was done saved within a window: its savings an hour, from its end until the first of its replacements ends, for a day
 * at most. A node that is not replaced saves until its NodePool makes the next one, which would have been that node: never more is saved than nodes that
 * would exist. The longest saving comes first.
 */
export function savingsIn(
  commands: readonly CommandFacts[],
  lives: readonly Life[],
  window: TimeRange,
): readonly Saving[] {
  const ends = new Map(lives.map(({ nodeClaim, endedMs }) => [nodeClaim, endedMs]))
  const done = commands.filter((one): one is DoneCommand => one.outcome === 'done' && one.endedMs !== undefined)
  const freed = freedNodes(done, lives)
  return done
    .flatMap((command) => {
      const { endedMs, replacements, savings } = command
      const gone = replacements.map((name) => ends.get(name) ?? Number.POSITIVE_INFINITY)
      const fromMs = Math.max(endedMs, window.fromMs)
      const lastMs = Math.min(window.toMs, endedMs + longestSavingMs, ...gone)
      const until = (freed.get(command) ?? [{ toMs: lastMs }]).map(({ toMs }) => Math.min(toMs, lastMs))
      const toMs = Math.max(...until)
      const savedMs = until.reduce((sum, ms) => sum + Math.max(0, ms - fromMs), 0) / until.length
      return toMs > fromMs ? [{ command, fromMs, toMs, usd: (savings * savedMs) / hourMs }] : []
    })
    .toSorted((a, b) => b.usd - a.usd)
}

/** Returns the nodes that a command of several removed without replacement, each with the creation that took its place. */
function freedNodes(done: readonly DoneCommand[], lives: readonly Life[]): ReadonlyMap<CommandFacts, FreedNode[]> {
  const poolOf = new Map(lives.map(({ nodeClaim, nodePool }) => [nodeClaim, nodePool]))
  const replacing = new Set(done.flatMap(({ replacements }) => replacements))
  const freed = new Map<CommandFacts, FreedNode[]>()
  const byPool = new Map<string, FreedNode[]>()
  for (const command of done.toSorted((a, b) => a.endedMs - b.endedMs)) {
    const { candidates, replacements, endedMs: fromMs } = command
    const count = candidates.length - replacements.length
    const nodePool = poolOf.get(candidates[0] ?? '')
    if (count <= 0 || nodePool === undefined) continue
    const nodes = Array.from({ length: count }, () => ({ fromMs, toMs: Number.POSITIVE_INFINITY }))
    freed.set(command, nodes)
    byPool.set(nodePool, [...(byPool.get(nodePool) ?? []), ...nodes])
  }
  for (const { nodeClaim, nodePool = '', createdMs } of lives.toSorted((a, b) => a.createdMs - b.createdMs)) {
    const waiting = byPool.get(nodePool) ?? []
    // Who saved for a day saves no more: that node is nobody's place.
    while (waiting[0] !== undefined && waiting[0].fromMs + longestSavingMs <= createdMs) waiting.shift()
    const [first] = waiting
    if (first === undefined || first.fromMs > createdMs || replacing.has(nodeClaim)) continue
    first.toMs = createdMs
    waiting.shift()
  }
  return freed
}
