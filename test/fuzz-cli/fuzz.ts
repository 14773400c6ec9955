import type { Case } from './cases.ts'
import { failureOf } from './judge.ts'
import { Runner } from './runner.ts'
import { shrunk } from './shrink.ts'

/** A case that did not end as it should, with as little in its file as still shows it. */
export interface Failure {
  readonly one: Case
  readonly message: string
}

export interface FuzzReport {
  readonly cases: number
  readonly failures: readonly Failure[]
  /** By the first word of the command line. */
  readonly commands: Readonly<Record<string, CommandReport>>
}

interface CommandReport {
  cases: number
  /** Exit codes, and how often. */
  codes: Record<string, number>
  slowestMs: number
  /** The number of the slowest case. */
  slowest: number
}

export interface FuzzInput {
  readonly caseOf: (index: number) => Case
  readonly count: number
  /** The number of the first one. */
  readonly from?: number
  /** Called with each failure as it is found. */
  readonly onFailure?: (failure: Failure) => void
  /** Called after each mutation with how many have run. */
  readonly onRun?: (done: number) => void
}

/** Runs so many mutations, from a number on. */
export async function fuzz({ caseOf, count, from = 0, onFailure, onRun }: FuzzInput): Promise<FuzzReport> {
  const runner = new Runner()
  const failures: Failure[] = []
  const commands: Record<string, CommandReport> = {}
  for (let index = from; index < from + count; index++) {
    const one = caseOf(index)
    const outcome = await runner.run(one)
    const report = (commands[one.words[0] ?? ''] ??= { cases: 0, codes: {}, slowestMs: 0, slowest: 0 })
    report.cases += 1
    if (outcome.kind === 'ran') {
      report.codes[outcome.code] = (report.codes[outcome.code] ?? 0) + 1
      if (outcome.milliseconds > report.slowestMs)
        Object.assign(report, { slowestMs: outcome.milliseconds, slowest: index })
    }
    onRun?.(index - from + 1)
    const message = failureOf(one, outcome)
    if (message === undefined) continue
    // Each further run of what does not end would take as long.
    const failure = { one: outcome.kind === 'ran' ? await shrunk(one, message, runner) : one, message }
    failures.push(failure)
    onFailure?.(failure)
  }
  await runner.stop()
  return { cases: count, failures, commands }
}
