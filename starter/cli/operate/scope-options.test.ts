import { describe, expect, test } from 'vitest'
import { type EndOptions, endOf, type ScopeOptions, targetOf } from './scope-options.ts'

const now = Date.parse('2026-11-21T12:00:00Z')

test.each<[ScopeOptions, unknown]>([
  [{}, { loop: 'disruption' }],
  [{ nodepool: 'gpu' }, { loop: 'disruption', scope: { nodePool: 'gpu' } }],
  [{ node: 'aks-1' }, { loop: 'disruption', scope: { node: 'aks-1' } }],
  [{ reason: 'Drifted' }, { loop: 'disruption', scope: { reason: 'Drifted' } }],
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

describe('the end of a pause', () => {
  test.each<[EndOptions, string | undefined]>([
    [{}, undefined],
    [{ for: '1h30m' }, '2026-11-21T13:30:00.000Z'],
    [{ until: '2026-11-21T13:30:00+01:00' }, '2026-11-21T12:30:00.000Z'],
    [{ until: '2026-11-23' }, new Date('2026-11-23T00:00').toISOString()],
  ])('%j', (options, value) => {
    expect(endOf(options, now)).toEqual({ kind: 'ok', value })
  })

  test.each<[EndOptions, string]>([
    [{ for: '2 days' }, '--for "2 days": not a duration; write it as 90m, 2h or 1h30m'],
    [{ for: '-1h' }, 'not a duration'],
    [{ until: 'friday' }, '--until "friday": not a time'],
    [{ until: '2026-02-30T25:00:00Z' }, 'not a time'],
    [{ until: '2026-11-21T11:00:00Z' }, 'lies in the past'],
    [{ for: '1h', until: '2026-12-01' }, '--for and --until: give one of them'],
  ])('%j is refused', (options, message) => {
    const end = endOf(options, now)
    expect(end.kind === 'error' && end.message).toContain(message)
  })
})
