import type { FaultyWorld } from '../faulty-world.ts'
import { Matrix, type MatrixOptions, type PhaseRow, type Result } from './matrix.ts'
import { servers } from './phases.ts'
import type { Report } from './report.ts'
import { describe, onlyInRecovery, type Row, rowsOf, withoutRow } from './rows.ts'

export interface RunOptions extends MatrixOptions {
  /** Which rows to run. */
  readonly select: (rows: readonly Row[]) => readonly Row[]
  /** After which no more kills of Joiner begin; all rows are run by default. */
  readonly minutes?: number | undefined
  /** Whether servers are killed in each phase, too. */
  readonly phases: boolean
}

/** Records one lifecycle, runs the rows that follow from it, and ends with an empty cluster. Errors: an untroubled stage does not end. */
export async function runMatrix(faulty: FaultyWorld, options: RunOptions): Promise<Report> {
  const startedAtMs = Date.now()
  const { say } = options
  const matrix = new Matrix(faulty, options)
  faulty.startJoiner()
  say('recording one untroubled lifecycle')
  const rows = rowsOf(await matrix.record())
  const selected = options.select(rows)
  say(`${rows.length} rows, ${selected.length} of them now`)
  const results: Result<Row>[] = []
  const phases: Result<PhaseRow>[] = []
  const untilMs = startedAtMs + (options.minutes ?? Number.POSITIVE_INFINITY) * 60_000
  await matrix.run(selected, untilMs, (result) => {
    results.push(result)
    say(`[${results.length}/${selected.length}] ${describe(result.row)}: ${reported(result)}`)
  })
  for (const server of options.phases ? servers : [])
    await matrix.runPhases(server, (result) => {
      phases.push(result)
      say(`${server} killed while ${result.row.phase}: ${reported(result)}`)
    })
  say('ending all lifecycles')
  const left = await matrix.end()
  return {
    rows: rows.length,
    results,
    phases,
    left,
    unrecorded: withoutRow(rows, matrix.seen),
    onlyInRecovery: onlyInRecovery(rows, matrix.seen),
    minutes: (Date.now() - startedAtMs) / 60_000,
    limitSeconds: options.limitMs / 1000,
    isMachines: options.isMachines === true,
  }
}

function reported({ verdict, seconds, detail }: Result<unknown>): string {
  const words = [
    verdict,
    ...(seconds === undefined ? [] : [`${seconds.toFixed(1)} s`]),
    ...(detail === undefined ? [] : [detail]),
  ]
  return words.join(' ')
}
