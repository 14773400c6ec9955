import { expect, test } from 'vitest'
import { clocksCheck } from './cluster.ts'
import type { DoctorContext } from './context.ts'

const now = Date.parse('2026-11-21T12:00:00.400Z')

/** Clocks that are so many seconds ahead of this machine's; undefined: an answer without a date. */
function context(apiServer: number, arm: number | undefined): DoctorContext {
  const date = (seconds: number) => new Date(now + seconds * 1000).toUTCString()
  return {
    now: () => now,
    kubernetes: { serverDate: () => Promise.resolve(date(apiServer)) },
    arm: { date: () => Promise.resolve(arm === undefined ? undefined : date(arm)) },
  } as unknown as DoctorContext
}

test.each([
  [0, 0, 'ok', 'the API server agrees; ARM agrees'],
  [1, -1, 'ok', 'the API server agrees; ARM agrees'],
  [20, 0, 'ok', 'the API server is 20 s ahead'],
  [0, -90, 'warn', 'ARM is 90 s behind'],
  [400, -90, 'fail', 'the API server is 400 s ahead: tokens will be refused'],
  [0, undefined, 'warn', 'ARM does not say what time it is'],
] as const)('clocks %i s and %i s ahead: %s', async (apiServer, arm, status, said) => {
  const finding = await clocksCheck(context(apiServer, arm)).run(new AbortController().signal)
  expect(finding.status).toBe(status)
  expect(finding.summary).toContain(said)
  expect((finding.remedies ?? []).some((remedy) => remedy.includes('timedatectl'))).toBe(
    status !== 'ok' && arm !== undefined,
  )
})
