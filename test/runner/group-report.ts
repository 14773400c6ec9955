import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { cpuSecondsOfTree } from './cpu-time.ts'
import { type Cost, costTable, overBudget, type RunReport } from './group-costs.ts'

/** Where a run leaves its report for who counts runs. Unset: nowhere. */
export const reportVariable = 'JOINER_TEST_REPORT'

/** Prints what each group of a run took, and names those over their budget. */
export default class GroupReport implements Reporter {
  readonly #times = new Map<string, { seconds: number; cpuSeconds: number }>()
  #running = ''
  #since = now()

  /** Groups run one after the other, so what passed since the last change belongs to the group before it. */
  onTestModuleQueued(suite: TestModule): void {
    const group = groupOf(suite)
    if (group === this.#running) return
    this.#charge()
    this.#running = group
  }

  onTestRunEnd(suites: readonly TestModule[]): void {
    this.#charge()
    const costs = Object.fromEntries(
      [...this.#times].map(([group, times]) => [group, { ...times, ...sizeOf(group, suites) }]),
    )
    console.log(`\n${costTable(costs)}\n`)
    for (const line of overBudget(costs)) console.warn(line)
    const file = process.env[reportVariable]
    if (file !== undefined) write(file, { costs, ...outcomeOf(suites) })
  }

  #charge(): void {
    const { seconds, cpuSeconds } = now()
    const before = this.#times.get(this.#running) ?? { seconds: 0, cpuSeconds: 0 }
    if (this.#running !== '')
      this.#times.set(this.#running, {
        seconds: before.seconds + seconds - this.#since.seconds,
        cpuSeconds: before.cpuSeconds + cpuSeconds - this.#since.cpuSeconds,
      })
    this.#since = { seconds, cpuSeconds }
  }
}

const now = () => ({ seconds: performance.now() / 1000, cpuSeconds: cpuSecondsOfTree() ?? Number.NaN })

const groupOf = ({ project }: TestModule) => project.name

function sizeOf(group: string, suites: readonly TestModule[]): Pick<Cost, 'suites' | 'tests'> {
  const own = suites.filter((suite) => groupOf(suite) === group)
  return { suites: own.length, tests: own.flatMap(({ children }) => [...children.allTests()]).length }
}

function outcomeOf(suites: readonly TestModule[]): Pick<RunReport, 'passed' | 'failed' | 'skipped'> {
  const tests = suites.flatMap(({ children }) => [...children.allTests()])
  const having = (state: string) => tests.filter((one) => one.result().state === state)
  // A suite whose set-up fails has no failed test.
  const broken = suites.filter((suite) => suite.state() === 'failed' && suite.errors().length > 0)
  return {
    passed: having('passed').length,
    failed: having('failed').length + broken.length,
    skipped: having('skipped').map(skippedText),
  }
}

/** Its name, and why it did not run. */
function skippedText(test: TestCase): string {
  const result = test.result()
  const why = result.state === 'skipped' ? result.note : undefined
  return `${test.module.relativeModuleId} > ${test.fullName}: ${why ?? 'its suite says when it runs'}`
}

function write(file: string, report: RunReport): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(report, null, 2))
}
