import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleCondition, sampleTime } from '../../test/samples/sample-objects.ts'
import type { NodeClaim } from '../objects.ts'
import {
  drainTimes,
  isRestartAsked,
  issueDeadline,
  rebootedSince,
  rebootOf,
  recoveryDeadline,
  restartRecord,
} from './reboot.ts'

const now = sampleTime + 60_000

const claim = (
  annotations: Readonly<Record<string, string>> = {},
  { status = 'True', reason = 'RebootRequested', ...metadata }: Readonly<Record<string, string>> = {},
): NodeClaim =>
  sampleClaim('a', {
    metadata: { annotations, ...metadata },
    status: { conditions: [{ ...sampleCondition('Rebooting', status as 'True', now), reason }] },
  })

const bound = (text: string) => ({ 'karpenter.sh/reboot-termination-grace-period': text })

describe('a reboot', () => {
  it.each<[string, NodeClaim, unknown]>([
    ['requested', claim(), { phase: 'requested', requestedMs: now, bound: undefined }],
    ['requested with a bound', claim(bound('1m30s')), { phase: 'requested', requestedMs: now, bound: 90_000 }],
    ['without time for pods', claim(bound('0s')), { phase: 'requested', requestedMs: now, bound: 0 }],
    ['with a bound that is none', claim(bound('soon')), { phase: 'requested', requestedMs: now, bound: 'invalid' }],
    ['with a negative bound', claim(bound('-1s')), { phase: 'requested', requestedMs: now, bound: 'invalid' }],
    [
      'issued',
      claim({ 'karpenter.sh/reboot-pre-boot-id': 'one' }, { reason: 'RebootIssued' }),
      { phase: 'issued', requestedMs: now, bound: undefined, preBootId: 'one' },
    ],
    ['that is over', claim({}, { status: 'False' }), undefined],
    ['of a claim that is being deleted', claim({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }), undefined],
    ['of which there is none', sampleClaim('a'), undefined],
  ])('%s', (_, one, expected) => {
    expect(rebootOf(one)).toEqual(expected)
  })

  it.each<[number | undefined, number, number]>([
    [undefined, 5000, Number.POSITIVE_INFINITY],
    [0, 0, 0],
    [1000, 5000, 5000],
    [60_000, 5000, 60_000],
  ])('with %s ms for its pods is drained for %i to %i ms', (ms, shortest, longest) => {
    expect(drainTimes({ phase: 'requested', requestedMs: now, bound: ms })).toEqual({
      shortest: now + shortest,
      longest: now + longest,
    })
  })

  it('has 20 minutes from its restart to recover, or from its request where no restart is known', () => {
    const reboot = { phase: 'issued', requestedMs: now, bound: undefined } as const
    expect(recoveryDeadline(claim(), rebootedSince(claim(), reboot, now))).toBe(now + 20 * 60_000)
    const restarted = claim(restartRecord(claim(), { bootId: 'one', seen: '', now: now + 300_000 }))
    expect(recoveryDeadline(restarted, rebootedSince(restarted, reboot, now + 300_000))).toBe(now + 25 * 60_000)
  })

  it('has its time without the hours in which no worker was there', () => {
    const away = {
      'joiner.sh/time-away': `${new Date(now + 60_000).toISOString()}/${new Date(now + 3_660_000).toISOString()}`,
    }
    const reboot = { phase: 'requested', requestedMs: now, bound: undefined } as const
    expect(recoveryDeadline(claim(away), now)).toBe(now + 80 * 60_000)
    expect(issueDeadline(claim(away), reboot)).toBe(now + 65 * 60_000)
    expect(recoveryDeadline(claim(away), now + 4_000_000)).toBe(now + 4_000_000 + 20 * 60_000)
  })

  it('records what Azure reported before, and each restart of the last day', () => {
    const before = claim({ 'joiner.sh/reboots': '2025-12-30T00:00:00Z,2025-12-31T12:00:00Z' })
    expect(restartRecord(before, { bootId: 'one', seen: 't0', now })).toEqual({
      'karpenter.sh/reboot-pre-boot-id': 'one',
      'joiner.sh/reboot-request': 't0',
      'joiner.sh/reboots': '2025-12-31T12:00:00Z,2026-01-01T00:01:00Z',
    })
  })

  it.each<[string | undefined, string, boolean]>([
    [undefined, 't0', false],
    ['t0', 't0', false],
    ['t0', 't1', true],
    // Without a time nothing proves that it was not.
    ['', '', true],
    ['', 't1', true],
  ])('recorded with %j, of a VM that now has %j: was asked for is %s', (record, seen, isAsked) => {
    expect(isRestartAsked(claim(record === undefined ? {} : { 'joiner.sh/reboot-request': record }), seen)).toBe(
      isAsked,
    )
  })
})
