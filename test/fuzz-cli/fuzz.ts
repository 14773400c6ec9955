import { type Case, caseOf } from './cases.ts'
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
  /** Numbers of those that were ended at the bounds. */
  cut: number[]
  slowestMs: number
  /** The number of the slowest case. */
  slowest: number
}

export interface FuzzInput {
  readonly seed: number
  readonly count: number
  /** The number of the first mutation. */
  readonly from?: number
  /** Called with each failure as it is found. */
  readonly onFailure?: (failure: Failure) => void
  /** Called after each mutation with how many have run. */
  readonly onRun?: (done: number) => void
}

/** Runs so many mutations of a seed's, from a number on. */
export async function fuzz({ seed, count, from = 0, onFailure, onRun }: FuzzInput): Promise<FuzzReport> {
  const runner = new Runner()
  const failures: Failure[] = []
  const commands: Record<string, CommandReport> = {}
  for (let index = from; index < from + count; index++) {
    const one = caseOf(seed, index)
    const outcome = await runner.run(one)
    const report = (commands[one.words[0] ?? ''] ??= { cases: 0, codes: {}, cut: [], slowestMs: 0, slowest: 0 })
    report.cases += 1
    if (outcome.kind === 'ran') {
      report.codes[outcome.code] = (report.codes[outcome.code] ?? 0) + 1
      if (outcome.milliseconds > report.slowestMs)
        Object.assign(report, { slowestMs: outcome.milliseconds, slowest: index })
    } else report.cut.push(index)
    onRun?.(index - from + 1)
    const message = failureOf(one, outcome)
    if (message === undefined) continue
    const failure = { one: await shrunk(one, message, runner), message }
    failures.push(failure)
    onFailure?.(failure)
  }
  await runner.stop()
  return { cases: count, failures, commands }
}
