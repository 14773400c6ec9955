import type { SeenCommand } from '../../test/proofs/disruption-proofs.ts'
import { type ShrinkOptions, type ShrinkReport, shrink } from '../../test/proofs/shrinking.ts'
import { World } from '../../test/world.ts'
import { circumstances, seconds, table } from '../report.ts'

/** The cost is shown this often. */
const stepMs = 30_000

/** Lets an underutilised cluster shrink and prints what it came to. Errors: as `shrink`; the exit status is 1 when the proof fails. */
export async function consolidation(options: ShrinkOptions): Promise<void> {
  const world = await World.start()
  try {
    world.startJoiner()
    const report = await shrink(world, options, (line) => console.error(line))
    console.log(text(report, options))
    const isKept = report.health.every(({ violations }) => violations.length === 0) && report.below.length === 0
    if (!isKept || report.reachedMs === undefined) process.exitCode = 1
  } finally {
    await world.stop()
  }
}

function text(report: ShrinkReport, { nodes, budget, within }: ShrinkOptions): string {
  const { before, after, solver, reachedMs, commands } = report
  const state = ({ nodes: count, cost }: { readonly nodes: number; readonly cost: number }) =>
    `${count} nodes, ${cost.toFixed(3)} USD/h`
  const above = after.cost / solver.cost - 1
  const rows = [
    ['before: underutilised', `${state(before)}, ${before.pods} pods`],
    ['the solver, same pods on an empty cluster', state(solver)],
    ['after', state(after)],
    ["above the solver's cost", `${(above * 100).toFixed(1)} %`],
    [`until within ${within * 100} %, for good`, reachedMs === undefined ? 'never' : seconds(reachedMs)],
    ...steps(report).map(([at, what]) => [`... after ${at}`, what]),
    ['commands, nodes that went, replacements', commandCounts(commands)],
    [
      'replacements not initialized when their node was deleted',
      String(commands.flatMap(({ tooLate }) => tooLate).length),
    ],
    ...report.health.map(({ app, healthy, lowest, moved, violations }) => [
      `${app}: demanded, fewest healthy, moved, violations`,
      `${healthy}, ${lowest}, ${moved}, ${violations.length}`,
    ]),
    ['PodDisruptionBudgets that counted too few', String(report.below.length)],
  ]
  return `### Consolidation, ${circumstances()}\n\n${table(['', `${nodes} nodes, budget ${budget}`], rows)}\n\n${reported(report)}\n`
}

function steps({ fleet, startMs }: ShrinkReport): readonly (readonly [string, string])[] {
  const end = fleet.at(-1)?.atMs ?? startMs
  const count = Math.ceil((end - startMs) / stepMs)
  return Array.from({ length: count }, (_, index) => {
    const seen = fleet.findLast(({ atMs }) => atMs <= startMs + (index + 1) * stepMs)
    return [`${((index + 1) * stepMs) / 1000} s`, `${seen?.nodes ?? 0} nodes, ${(seen?.cost ?? 0).toFixed(3)} USD/h`]
  })
}

function commandCounts(commands: readonly SeenCommand[]): string {
  const count = (of: (command: SeenCommand) => readonly string[]) =>
    new Set(commands.flatMap((command) => of(command))).size
  return `${commands.length}, ${count(({ candidates }) => candidates)}, ${count(({ replacements }) => replacements)}`
}

/** Each command on a line, by the seconds since consolidation was allowed. */
function reported({ commands, startMs }: ShrinkReport): string {
  const at = (ms: number | undefined) => (ms === undefined ? 'not gone' : `${((ms - startMs) / 1000).toFixed(1)} s`)
  return commands
    .map(
      ({ reason, candidates, replacements, stampedAtMs, goneAtMs }) =>
        `- ${at(stampedAtMs)} to ${at(goneAtMs)}: ${reason}, ${candidates.length} nodes for ${replacements.length}`,
    )
    .join('\n')
}
