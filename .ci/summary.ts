// Prints the closing line of a CI run from vitest's own report, and exits non-zero unless everything passed.
import { readFileSync } from 'node:fs'

const [file = '', check, tests] = process.argv.slice(2)

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
}

function read(): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch (error) {
    console.error(`no test report at ${file}: ${String(error)}`)
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0 }
  }
}

const report = read()
// The gate counts as one check; a run that failed outside of a test (set-up, teardown) counts as one failure.
const outside = tests !== '0' && report.numFailedTests === 0 ? 1 : 0
const failed = report.numFailedTests + outside + (check === '0' ? 0 : 1)
const passed = report.numPassedTests + (check === '0' ? 1 : 0)
const skipped = report.numPendingTests > 0 ? `, ${report.numPendingTests} skipped` : ''
console.log(`${passed} passed, ${failed} failed${skipped}`)
process.exit(failed === 0 && report.numPassedTests > 0 ? 0 : 1)
