import { describe, expect, test } from 'vitest'
import { endOf, type ScopeOptions, targetOf } from './request-options.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
/** An hour of the day in Greenwich as a clock on this machine shows it. */
const local = (hour: number) => new Date(Date.UTC(2026, 10, 21, hour)).toTimeString().slice(0, 5)

test.each<[ScopeOptions, unknown]>([
  [{}, { loop: 'disruption' }],
  [{ nodepool: 'gpu' }, { loop: 'disruption', scope: { nodePool: 'gpu' } }],
  [{ disruptionReason: 'Drifted' }, { loop: 'disruption', scope: { reason: 'Drifted' } }],
  [{ provisioning: true }, { loop: 'provisioning' }],
])('%j means %j', (options, value) => {
  expect(targetOf(options)).toEqual({ kind: 'ok', value })
})

test('two scopes at once are refused by name', () => {
  expect(targetOf({ nodepool: 'gpu', provisioning: true })).toEqual({
    kind: 'error',
    message: '--nodepool and --provisioning: one scope at a time; run the command once for each',
  })
})

test('what cannot be a name is refused', () => {
  expect(targetOf({ nodepool: 'My Pool' })).toEqual({
    kind: 'error',
    message: '--nodepool "My Pool": not the name of an object in Kubernetes',
  })
})

test('two scopes are named as on the command line', () => {
  expect(targetOf({ nodepool: 'gpu', disruptionReason: 'Drifted' })).toMatchObject({
    message: expect.stringContaining('--nodepool and --disruption-reason: one scope at a time') as string,
  })
})

describe('the end of a pause or hold', () => {
  test.each<[string | undefined, string | undefined]>([
    [undefined, undefined],
    ['1h30m', '2026-11-21T13:30:00.000Z'],
    ['1w', '2026-11-28T12:00:00.000Z'],
    ['1d12h', '2026-11-23T00:00:00.000Z'],
    [local(14), '2026-11-21T14:00:00.000Z'],
    [local(11), '2026-11-22T11:00:00.000Z'],
    ['2026-11-21T13:30:00+01:00', '2026-11-21T12:30:00.000Z'],
    ['2026-11-23', new Date('2026-11-23T00:00').toISOString()],
  ])('%j', (until, value) => {
    expect(endOf(until, now)).toEqual({ kind: 'ok', value })
  })

  test.each([
    ['2 days', '--until "2 days": neither a duration nor a time; write it as 2h, as 2026-12-01T06:00:00Z'],
    ['0s', '--until "0s": has to last; write it as 90m, 2h or 1h30m'],
    ['friday', '--until "friday": neither a duration nor a time'],
    ['2026-02-30T25:00:00Z', 'neither a duration nor a time'],
    ['2026-11-21T11:00:00Z', 'lies in the past'],
  ])('%j is refused', (until, message) => {
    const end = endOf(until, now)
    expect(end.kind === 'error' && end.message).toContain(message)
  })
})
