import type { Reporter, TestModule } from 'vitest/node'

const most = 10

/** Prints the slowest suites when all have ended: in them is the time of a whole run. */
export default class SlowestSuites implements Reporter {
  onTestRunEnd(suites: readonly TestModule[]): void {
    const timed = suites.map((suite) => ({ suite, ms: suite.diagnostic().duration }))
    const slowest = timed.sort((one, other) => other.ms - one.ms).slice(0, most)
    const lines = slowest.map(({ suite, ms }) => `${(ms / 1000).toFixed(1).padStart(8)} s  ${suite.relativeModuleId}`)
    console.log([`\nThe slowest ${slowest.length} of ${suites.length} suites:`, ...lines, ''].join('\n'))
  }
}
