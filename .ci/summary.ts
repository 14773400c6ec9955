// Prints the closing line of a CI run from the report of the run, and exits non-zero unless everything passed.
import { readFileSync } from 'node:fs'
import type { RunReport } from '../test/runner/group-costs.ts'

const [file = '', check, tests] = process.argv.slice(2)

function read(): Pick<RunReport, 'passed' | 'failed' | 'skipped'> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RunReport
  } catch (error) {
    console.error(`no test report at ${file}: ${String(error)}`)
    return { passed: 0, failed: 1, skipped: [] }
  }
}

const report = read()
// The gate counts as one check; a run that failed outside of a test (set-up, teardown) counts as one failure.
const outside = tests !== '0' && report.failed === 0 ? 1 : 0
const failed = report.failed + outside + (check === '0' ? 0 : 1)
const passed = report.passed + (check === '0' ? 1 : 0)
const skipped = report.skipped.length > 0 ? `, ${report.skipped.length} skipped` : ''
console.log(`${passed} passed, ${failed} failed${skipped}`)
process.exit(failed === 0 && report.passed > 0 ? 0 : 1)
