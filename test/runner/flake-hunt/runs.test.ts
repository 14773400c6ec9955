import { expect, test } from 'vitest'
import { runOf, summaryOf } from './runs.ts'

const report = (...results: readonly object[]) => JSON.stringify({ numTotalTests: 2, testResults: results })
const suite = { name: 'a.test.ts', status: 'passed', message: '', assertionResults: [] }
const failing = {
  ...suite,
  status: 'failed',
  assertionResults: [
    { fullName: 'ends', status: 'failed', failureMessages: ['expected 1 to be 2'] },
    { fullName: 'begins', status: 'passed' },
  ],
}
const ended = { code: 1, seconds: 2 }

test('a run has the texts of its failures, those outside of tests among them', () => {
  expect(runOf(report(suite), { code: 0, seconds: 2 })).toEqual({ seconds: 2, tests: 2, failures: [] })
  expect(runOf(report(failing), ended).failures).toEqual([{ test: 'ends', text: 'expected 1 to be 2' }])
  expect(runOf(report({ ...suite, status: 'failed', message: 'no server' }), ended).failures).toEqual([
    { test: 'a.test.ts as a whole', text: 'no server' },
  ])
  expect(runOf(report(suite), ended).failures).toMatchObject([{ test: 'the run as a whole' }])
  expect(runOf(undefined, ended).failures).toMatchObject([{ text: expect.stringContaining('ended with 1') }])
})

test('a summary counts failures by test', () => {
  const runs = [runOf(report(suite), { code: 0, seconds: 1.5 }), runOf(report(failing), ended)]
  expect(summaryOf(runs)).toBe(
    '2 runs, 1 failed, 1.5 to 2.0 s each.\n\n| test | failures |\n| --- | ---: |\n| ends | 1 |',
  )
  expect(summaryOf(runs.slice(0, 1))).toBe('1 runs, 0 failed, 1.5 to 1.5 s each.')
})
