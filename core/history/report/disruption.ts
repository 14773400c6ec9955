import type { TimeRange } from '../../cost/bill.ts'
import { type Saving, savingsIn } from '../../cost/savings.ts'
import { type DisruptionMethod, type DisruptionReason, methodFacts, methodNames } from '../../disruption/command.ts'
import type { CommandFacts, Life } from '../life.ts'
import { inOrder } from './window.ts'

/** The commands of one method. `commands` is the sum of the four that follow. */
export interface MethodCounts {
  readonly method: DisruptionMethod
  readonly reason: DisruptionReason
  readonly commands: number
  readonly done: number
  readonly undone: number
  readonly running: number
  /** Ended without an outcome: somebody terminated their workflows. */
  readonly unknown: number
  /** Nodes that commands which were done took away, and those that they put in their place. */
  readonly removed: number
  readonly replacements: number
  /** USD an hour, of commands that were done. */
  readonly savingsPerHour: number
  /** USD within the window, for a day after each command at most. */
  readonly saved: number
}

/** Commands of one method that were undone for the same reason. */
export interface UndoneCount {
  readonly method: DisruptionMethod
  readonly message: string
  readonly commands: number
  /** NodeClaims that stayed, each once. */
  readonly candidates: readonly string[]
  /** Epoch ms: the latest end. */
  readonly lastMs: number
}

/**
 * Returns the commands that ran within the window, in the order in which methods are tried. `saved` is also what commands save that were done before it.
 */
export function methodCounts(
  commands: readonly CommandFacts[],
  lives: readonly Life[],
  window: TimeRange,
): readonly MethodCounts[] {
  const own = commandsIn(commands, window)
  const savings = savingsIn(commands, lives, window)
  return methodNames
    .map((method) =>
      countsOf(
        method,
        own.filter((command) => command.method === method),
        savings.filter(({ command }) => command.method === method),
      ),
    )
    .filter((row) => row.commands > 0 || row.saved !== 0)
}

function countsOf(method: DisruptionMethod, own: readonly CommandFacts[], savings: readonly Saving[]): MethodCounts {
  const done = own.filter(({ outcome }) => outcome === 'done')
  const count = (counts: (command: CommandFacts) => boolean) => own.filter(counts).length
  return {
    method,
    reason: methodFacts[method].reason,
    commands: own.length,
    done: done.length,
    undone: count(({ outcome }) => outcome === 'undone'),
    running: count(({ outcome, endedMs }) => outcome === undefined && endedMs === undefined),
    unknown: count(({ outcome, endedMs }) => outcome === undefined && endedMs !== undefined),
    removed: sum(done, ({ candidates }) => candidates.length),
    replacements: sum(done, ({ replacements }) => replacements.length),
    savingsPerHour: sum(done, (command) => command.savings),
    saved: sum(savings, ({ usd }) => usd),
  }
}

/** Returns why commands were undone within the window, the most frequent reason first. */
export function undoneReasons(commands: readonly CommandFacts[], window: TimeRange): readonly UndoneCount[] {
  const undone = commandsIn(commands, window).filter(({ outcome }) => outcome === 'undone')
  const groups = Map.groupBy(undone, ({ method, message }) => JSON.stringify([method, message ?? '']))
  return [...groups.values()]
    .flatMap((own): readonly UndoneCount[] => {
      const [first] = own
      if (first === undefined) return []
      const candidates = new Set(own.flatMap((command) => command.candidates))
      return [
        {
          method: first.method,
          message: first.message ?? '',
          commands: own.length,
          candidates: [...candidates].sort(),
          lastMs: Math.max(...own.map(({ startedMs, endedMs }) => endedMs ?? startedMs)),
        },
      ]
    })
    .sort(
      inOrder(
        (row) => -row.commands,
        ({ lastMs }) => -lastMs,
        ({ method }) => method,
        ({ message }) => message,
      ),
    )
}

function commandsIn(commands: readonly CommandFacts[], { fromMs, toMs }: TimeRange): readonly CommandFacts[] {
  return commands.filter(({ startedMs, endedMs }) => startedMs < toMs && (endedMs ?? toMs) >= fromMs)
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
