import { describe, expect, it } from 'vitest'
import {
  sampleClaim,
  sampleCondition,
  sampleNode,
  samplePolicy,
  sampleTime,
} from '../../test/samples/sample-objects.ts'
import type { Node, NodeClaim } from '../objects.ts'
import {
  expiresAt,
  launchDeadline,
  launchEnd,
  nextObservationAt,
  nextStep,
  registrationDeadline,
  terminationDeadline,
} from './lifecycle.ts'

const minute = 60_000
const uid = 'uid-a-claim'
const at = (...conditions: readonly ReturnType<typeof sampleCondition>[]) =>
  sampleClaim('a', { status: { conditions } })
const launched = sampleCondition('Launched', 'True', sampleTime + minute)
const registered = sampleCondition('Registered')
const deleting = (change: Parameters<typeof sampleClaim>[1] = {}) =>
  sampleClaim('a', {
    ...change,
    metadata: { deletionTimestamp: new Date(sampleTime + minute).toISOString(), ...change?.metadata },
  })

const held = (until: string, expiry = 'false') =>
  sampleClaim('a', {
    metadata: { annotations: { 'joiner.sh/hold-until': until, 'joiner.sh/hold-expiry': expiry } },
    spec: { expireAfter: '1m' },
  })

describe('nextStep', () => {
  it.each([
    ['a claim that is gone', undefined, { kind: 'finished' }],
    ['another claim of its name', sampleClaim('a', { metadata: { uid: 'other' } }), { kind: 'finished' }],
    ['a new claim', at(), { kind: 'launch', idleSinceMs: sampleTime }],
    ['a launch that was undone', at(sampleCondition('Launched', 'Unknown', sampleTime + minute)), { kind: 'launch' }],
    ['a launched claim', at(launched), { kind: 'awaitRegistration' }],
    ['a registered claim', at(launched, registered), { kind: 'awaitInitialization' }],
    ['a whole one', at(launched, registered, sampleCondition('Initialized')), { kind: 'steady' }],
    [
      'one that will expire',
      sampleClaim('a', { spec: { expireAfter: '720h' } }),
      { kind: 'steady', wakeAtMs: sampleTime + 43_200 * minute, wakeFor: 'expiry' },
    ],
    [
      'one that has expired',
      sampleClaim('a', { spec: { expireAfter: '1m' } }),
      { kind: 'expire', expiredAtMs: sampleTime + minute },
    ],
    [
      'one that has expired and is held with its expiry',
      held('2026-01-01T01:00:00Z', 'true'),
      { kind: 'steady', wakeAtMs: sampleTime + 60 * minute, wakeFor: 'expiry' },
    ],
    ['one that is so held without end', held('released', 'true'), { kind: 'steady' }],
    ['one that is held, but not its expiry', held('released'), { kind: 'expire', expiredAtMs: sampleTime + minute }],
    [
      'one whose hold is over',
      held('2026-01-01T00:02:00Z', 'true'),
      { kind: 'expire', expiredAtMs: sampleTime + minute },
    ],
    ['a deleting one', deleting(), { kind: 'terminate' }],
    [
      'a deleting one that is held',
      deleting({ metadata: { annotations: { 'joiner.sh/hold-until': 'released', 'joiner.sh/hold-expiry': 'true' } } }),
      { kind: 'terminate' },
    ],
    [
      'a deleting one with little time',
      deleting({ spec: { terminationGracePeriod: '5m' } }),
      { kind: 'terminate', deadlineMs: sampleTime + 6 * minute },
    ],
    ['a deleting one that was never launched', { ...deleting(), status: at().status }, { kind: 'terminate' }],
  ])('%s', (_, claim, step) => {
    expect(nextStep(claim, { uid, now: sampleTime + 2 * minute })).toEqual(step)
  })
})

describe('nextStep of a process whose clock is wrong', () => {
  const now = sampleTime + 60 * minute
  const retryMs = now + 5 * minute
  const sick = sampleNode('a', { conditions: [sampleCondition('Ready', 'False')] })
  const rules = {
    interruptions: [{ type: 'VMEventScheduled', status: 'True' as const }],
    repairs: [samplePolicy('Ready', 'False', { tolerationMs: 10 * minute })],
  }
  const expired = { spec: { expireAfter: '1m' } }
  const whole = ['Launched', 'Registered', 'Initialized'].map((type) => sampleCondition(type))

  it.each<[string, NodeClaim, Node | undefined, object, object]>([
    [
      'expires nothing, and looks again',
      sampleClaim('a', expired),
      undefined,
      { kind: 'expire', expiredAtMs: sampleTime + minute },
      { kind: 'steady', wakeAtMs: retryMs, wakeFor: 'expiry' },
    ],
    [
      'repairs nothing, and looks again',
      sampleClaim('a'),
      sick,
      { kind: 'repair' },
      { kind: 'steady', wakeAtMs: retryMs, wakeFor: 'repair, since Ready is False,' },
    ],
    [
      'knows what is due later',
      sampleClaim('a', { spec: { expireAfter: '720h' } }),
      undefined,
      { kind: 'steady', wakeAtMs: sampleTime + 43_200 * minute },
      { kind: 'steady', wakeAtMs: sampleTime + 43_200 * minute },
    ],
    [
      'goes on with a launch of what has expired',
      sampleClaim('a', { ...expired, status: { conditions: [] } }),
      undefined,
      { kind: 'expire' },
      { kind: 'launch' },
    ],
    [
      'ends a node with its VM',
      sampleClaim('a', { ...expired, status: { conditions: whole } }),
      sampleNode('a', { conditions: [sampleCondition('VMEventScheduled')] }),
      { kind: 'interrupt' },
      { kind: 'interrupt' },
    ],
    ['terminates what is deleted', deleting(expired), undefined, { kind: 'terminate' }, { kind: 'terminate' }],
  ])('%s', (_, claim, node, otherwise, withheld) => {
    const step = (isClockWrong: boolean) => nextStep(claim, { uid, now, isClockWrong }, { node, rules })
    expect(step(false)).toMatchObject(otherwise)
    expect(step(true)).toMatchObject(withheld)
  })

  it('is not to look again at once, whatever it waits for', () => {
    const claim = sampleClaim('a', expired)
    const due = (isClockWrong: boolean) =>
      nextObservationAt(claim, { now, sinceMs: now, isClockWrong }, { node: sick, rules })
    expect(due(false)).toBe(sampleTime + minute)
    expect(due(true)).toBe(retryMs)
  })
})

describe('deadlines', () => {
  it('gives an attempt 5 min and all of them 15', () => {
    expect(launchDeadline(at(), sampleTime + minute)).toBe(sampleTime + 6 * minute)
    expect(launchDeadline(at(), sampleTime + 14 * minute)).toBe(sampleTime + 15 * minute)
  })

  it('count no time without a worker, each since its own start', () => {
    const away = {
      'joiner.sh/time-away': '2026-01-01T00:00:30Z/2026-01-01T00:02:00Z,2026-01-01T00:10:00Z/2026-01-01T00:40:00Z',
    }
    const claim = { ...at(launched), metadata: { ...at().metadata, annotations: away } }
    expect(launchEnd(claim)).toBe(sampleTime + 46.5 * minute)
    expect(launchDeadline(claim, sampleTime + 9 * minute)).toBe(sampleTime + 44 * minute)
    expect(launchDeadline(claim, sampleTime + 43 * minute)).toBe(sampleTime + 46.5 * minute)
    expect(registrationDeadline(claim)).toBe(sampleTime + 47 * minute)
  })

  it('are those that the workflow passes', () => {
    expect(launchDeadline(at(), sampleTime, { attemptMs: 20_000, claimMs: minute })).toBe(sampleTime + 20_000)
    expect(registrationDeadline(at(launched), minute)).toBe(sampleTime + 2 * minute)
  })

  it('of a user stay as they are, however long no worker was there', () => {
    const away = { 'joiner.sh/time-away': '2026-01-01T00:00:30Z/2026-01-01T00:30:00Z' }
    const claim = deleting({
      spec: { terminationGracePeriod: '5m', expireAfter: '1h' },
      metadata: { annotations: away },
    })
    expect(terminationDeadline(claim)).toBe(sampleTime + 6 * minute)
    expect(expiresAt(claim)).toBe(sampleTime + 60 * minute)
  })

  it('restarts registration at each launch', () => {
    expect(registrationDeadline(at(launched))).toBe(sampleTime + 16 * minute)
  })

  it('knows claims that never expire', () => {
    expect(expiresAt(sampleClaim('a', { spec: { expireAfter: 'Never' } }))).toBeUndefined()
    expect(expiresAt(sampleClaim('a'))).toBeUndefined()
  })

  it('prefers a stamped termination time', () => {
    const stamp = { 'karpenter.sh/nodeclaim-termination-timestamp': '2026-01-01T00:03:00Z' }
    const claim = deleting({ spec: { terminationGracePeriod: '1h' }, metadata: { annotations: stamp } })
    expect(terminationDeadline(claim)).toBe(sampleTime + 3 * minute)
    expect(terminationDeadline(sampleClaim('a', { spec: { terminationGracePeriod: '1h' } }))).toBeUndefined()
  })
})
