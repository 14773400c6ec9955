import { describe, expect, it } from 'vitest'
import {
  sampleClaim,
  sampleCondition,
  sampleNode,
  samplePolicy,
  sampleTime,
} from '../../test/samples/sample-objects.ts'
import type { Condition } from '../objects.ts'
import { nextObservationAt, nextStep, wakeOf } from './lifecycle.ts'
import { areTooManySick, interruptionOf, type NodeRules, needsLook, repairOf } from './node-health.ts'

const minute = 60_000
const rules: NodeRules = {
  interruptions: [
    { type: 'PreemptionScheduled', status: 'True' },
    { type: 'VMEventScheduled', status: 'True', reason: 'TerminateScheduled' },
  ],
  repairs: [
    samplePolicy('Ready', 'False', { tolerationMs: 10 * minute }),
    samplePolicy('Ready', 'Unknown', { tolerationMs: 10 * minute }),
    samplePolicy('Broken', 'True', { tolerationMs: 0 }),
  ],
}
const node = (...conditions: readonly Condition[]) => sampleNode('a', { conditions })
const preempted = (message = '', at = sampleTime): Condition => ({
  ...sampleCondition('PreemptionScheduled', 'True', at),
  reason: 'SpotEvictionIncoming',
  message,
})
const at = (ms: number) => new Date(ms).toUTCString()

describe('an interruption', () => {
  const now = sampleTime + 5000

  it.each<[string, readonly Condition[], number | undefined]>([
    ['ends when its message says so', [preempted(`Preempt Scheduled: ${at(sampleTime + 12_000)}. EventId: 1`)], 12_000],
    [
      'ends when its message says so in RFC 3339',
      [preempted(`NotBefore ${new Date(sampleTime + 7000).toISOString()}`)],
      7000,
    ],
    ['ends 30 s after the condition when it has begun', [preempted('Preempt Scheduled: . EventId: 1')], 30_000],
    [
      'is the earliest of several',
      [preempted('', sampleTime + 9000), { ...sampleCondition('VMEventScheduled'), reason: 'TerminateScheduled' }],
      30_000,
    ],
    ['is none when it was called off', [sampleCondition('PreemptionScheduled', 'False')], undefined],
    ['is none where the VM stays', [{ ...sampleCondition('VMEventScheduled'), reason: 'FreezeScheduled' }], undefined],
  ])('%s', (_, conditions, ms) => {
    const found = interruptionOf(node(...conditions), rules, now)
    expect(found?.deadlineMs).toBe(ms === undefined ? undefined : sampleTime + ms)
  })

  it('without any time ends 30 s from now', () => {
    const { lastTransitionTime: _, ...timeless } = preempted('')
    expect(interruptionOf(node(timeless), rules, now)).toMatchObject({
      condition: 'PreemptionScheduled (SpotEvictionIncoming)',
      deadlineMs: now + 30_000,
    })
  })
})

describe('a repair', () => {
  it('is due by the condition whose toleration ends first', () => {
    const late = sampleCondition('Ready', 'Unknown', sampleTime)
    expect(repairOf(node(late), rules)).toEqual({ type: 'Ready', status: 'Unknown', dueAtMs: sampleTime + 10 * minute })
    const broken = sampleCondition('Broken', 'True', sampleTime + 9 * minute)
    expect(repairOf(node(late, broken), rules)?.type).toBe('Broken')
    const later = sampleCondition('Broken', 'True', sampleTime + 11 * minute)
    expect(repairOf(node(late, later), rules)?.type).toBe('Ready')
    expect(repairOf(node(sampleCondition('Ready'), sampleCondition('Broken', 'False')), rules)).toBeUndefined()
    expect(repairOf(node(late), { ...rules, repairs: [] })).toBeUndefined()
  })

  it.each([
    [1, 1, false],
    [5, 1, false],
    [5, 2, true],
    [6, 2, false],
    [10, 2, false],
    [10, 3, true],
  ])('of %i nodes with %i unhealthy: too many is %s', (all, sick, isTooMany) => {
    const nodes = Array.from({ length: all }, (_, index) =>
      node(sampleCondition('Ready', index < sick ? 'False' : 'True')),
    )
    expect(areTooManySick(nodes, rules)).toBe(isTooMany)
  })
})

describe('a change of a Node', () => {
  const well = node(sampleCondition('Ready'))
  const sick = node(sampleCondition('Ready', 'Unknown'))
  it.each([
    ['gets sick', well, sick, true],
    ['is sick when it is seen first', undefined, sick, true],
    ['is well when it is seen first', undefined, well, false],
    ['stays sick', sick, sick, false],
    ['gets well', sick, well, false],
    ['is interrupted', sick, node(sampleCondition('Ready', 'Unknown'), preempted()), true],
    ['ends sooner', node(preempted('', sampleTime + 1)), node(preempted()), true],
  ])('that %s', (_, before, after, isNews) => {
    expect(needsLook({ before, after }, rules, sampleTime)).toBe(isNews)
  })
})

describe('the step of a claim', () => {
  const uid = 'uid-a-claim'
  const claim = sampleClaim('a', { spec: { expireAfter: '1h' } })
  const sick = node(sampleCondition('Ready', 'False'))
  const step = (of: typeof claim, seen: typeof sick, ms: number) =>
    nextStep(of, { uid, now: sampleTime + ms }, { node: seen, rules })

  it('is to rest until its Node has been unhealthy for too long', () => {
    expect(step(claim, sick, 0)).toEqual({
      kind: 'steady',
      wakeAtMs: sampleTime + 10 * minute,
      wakeFor: 'repair, since Ready is False,',
    })
    expect(step(claim, sick, 10 * minute)).toMatchObject({ kind: 'repair', repair: { type: 'Ready' } })
    expect(step(claim, sick, 60 * minute)).toMatchObject({ kind: 'expire' })
  })

  it('is to repair a Node that never became ready', () => {
    const joining = sampleClaim('a', { status: { conditions: [sampleCondition('Launched')] } })
    expect(step(joining, sick, 0).kind).toBe('awaitRegistration')
    expect(step(joining, sick, 10 * minute).kind).toBe('repair')
  })

  it('is not to repair a Node that is held, until the hold ends', () => {
    const held = (until: string) => sampleClaim('a', { metadata: { annotations: { 'joiner.sh/hold-until': until } } })
    expect(step(held('released'), sick, 20 * minute)).toEqual({ kind: 'steady' })
    const until = new Date(sampleTime + 30 * minute).toISOString()
    expect(step(held(until), sick, 20 * minute)).toMatchObject({ wakeAtMs: sampleTime + 30 * minute })
    expect(step(held(until), sick, 30 * minute).kind).toBe('repair')
    expect(step(held('released'), node(preempted()), 0).kind).toBe('interrupt')
  })

  it('is to end with its VM, before anything else', () => {
    expect(step(claim, node(preempted()), 0)).toMatchObject({
      kind: 'interrupt',
      interruption: { deadlineMs: sampleTime + 30_000 },
    })
    expect(step(claim, node(preempted()), 60 * minute).kind).toBe('interrupt')
    const deleting = sampleClaim('a', { metadata: { deletionTimestamp: new Date(sampleTime).toISOString() } })
    expect(step(deleting, node(preempted()), 0).kind).toBe('terminate')
  })
})

describe('a claim that waits to become a node', () => {
  const claim = sampleClaim('a', { spec: { expireAfter: '1h' } })
  const sick = node(sampleCondition('Ready', 'False'))
  const lookAt = (seen: typeof sick, now: number, since: number) => {
    const time = nextObservationAt(claim, { now: sampleTime + now, sinceMs: sampleTime + since }, { node: seen, rules })
    return time === undefined ? undefined : time - sampleTime
  }

  it.each([
    ['expires', node(sampleCondition('Ready')), 0, 0, 60 * minute],
    ['is interrupted', node(preempted()), 3, 0, 3],
    ['has been sick for too long', sick, 0, 0, 10 * minute],
    ['was sick before and is not repaired', sick, 11 * minute, 11 * minute, 16 * minute],
    ['was sick before and expires sooner', sick, 58 * minute, 58 * minute, 60 * minute],
  ])('is evaluated when it %s', (_, seen, now, since, expected) => {
    expect(lookAt(seen, now, since)).toBe(expected)
  })

  it('rests without end where nothing is due', () => {
    expect(wakeOf(sampleClaim('a'), { now: sampleTime }, { node: sampleNode('a'), rules })).toEqual({})
  })
})
