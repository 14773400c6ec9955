import { expect, test } from 'vitest'
import { retentionFinding } from './temporal.ts'

const at = { namespace: 'joiner', address: 'temporal:7233' }
const hours = (count: number) => retentionFinding(count * 3_600_000, at)
const update = 'temporal operator namespace update --namespace joiner --retention 168h --address temporal:7233'

test.each([
  [0.5, 'warn', 'namespace "joiner" keeps what ended for 30 min, less than a day'],
  [23, 'warn', 'keeps what ended for 23 h, less than a day'],
  [24, 'ok', `for 24 h; 168 h are recommended: ${update}`],
  [167, 'ok', '168 h are recommended'],
  [168, 'ok', 'namespace "joiner" keeps what ended for 168 h'],
] as const)('a retention of %d h is %s', (count, status, words) => {
  const finding = hours(count)
  expect(finding.status).toBe(status)
  expect(finding.summary).toContain(words)
  expect(finding.remedies ?? []).toEqual(status === 'warn' ? [update] : [])
})

test('a retention that is not told is no problem', () => {
  expect(retentionFinding(undefined, at).status).toBe('ok')
})
