import { describe, expect, test } from 'vitest'
import { dedupeKey, eventRule, transitions } from './events.ts'

const minute = 60_000

describe('the table of events (reference/karpenter-core.md 6.2)', () => {
  test.each([
    ['FailedScheduling', 'Pod', 'Warning', 5 * minute],
    ['DisruptionBlocked', 'NodePool', 'Normal', minute],
    ['DisruptionBlocked', 'NodeClaim', 'Normal', 2 * minute],
    ['Unconsolidatable', 'NodeClaim', 'Normal', 15 * minute],
    ['NoCompatibleInstanceTypes', 'NodePool', 'Warning', minute],
    ['NodeRepairBlocked', 'Node', 'Warning', 15 * minute],
    ['Evicted', 'Pod', 'Normal', 2 * minute],
    ['InsufficientCapacityError', 'NodeClaim', 'Warning', 2 * minute],
  ] as const)('%s on a %s: %s, told again after %d ms', (reason, kind, type, dedupeMs) => {
    expect(eventRule(reason, kind)).toMatchObject({ type, dedupeMs })
  })

  test('only nominations share a budget', () => {
    expect(eventRule('Nominated', 'Pod').limit).toBe('nomination')
    expect(eventRule('FailedScheduling', 'Pod').limit).toBeUndefined()
  })
})

test('the key has the reason in lower case and the values as they are', () => {
  expect(dedupeKey('FailedScheduling', ['UID-1'])).toBe('failedscheduling-UID-1')
  expect(dedupeKey('FAILEDSCHEDULING', ['UID-1'])).toBe(dedupeKey('FailedScheduling', ['UID-1']))
  expect(dedupeKey('Evicted', ['a'])).not.toBe(dedupeKey('Evicted', ['A']))
})

describe('transitions of conditions', () => {
  const registered = { type: 'Registered', status: 'Unknown', reason: 'NodeNotFound' } as const

  test('a changed status is published with reason and message', () => {
    expect(
      transitions(
        'NodeClaim',
        [registered],
        [{ type: 'Registered', status: 'False', reason: 'Refused', message: 'no such node' }],
      ),
    ).toEqual([
      {
        reason: 'Registered',
        message:
          'Status condition transitioned, Type: Registered, Status: Unknown -> False, Reason: Refused, Message: no such node',
      },
    ])
  })

  test('a condition without a message ends with its reason', () => {
    const [event] = transitions(
      'NodeClaim',
      [registered],
      [{ type: 'Registered', status: 'True', reason: 'Registered', message: '' }],
    )
    expect(event?.message).toBe(
      'Status condition transitioned, Type: Registered, Status: Unknown -> True, Reason: Registered',
    )
  })

  test.each([
    ['NodeClaim', ['Launched', 'Registered']],
    ['NodePool', ['ValidationSucceeded', 'NodeClassReady']],
    ['AKSNodeClass', ['SubnetsReady', 'ImagesReady']],
    ['NodeOverlay', ['ValidationSucceeded']],
  ])('of a new %s, Ready and what it follows from begin as Unknown', (kind, types) => {
    const set = [...types, 'Ready'].map((type) => ({ type, status: 'True', reason: type, message: '' }) as const)
    const other = { type: 'Other', status: 'True', reason: 'Other', message: '' } as const
    expect(transitions(kind, [], [...set, other])).toEqual(
      set.map(({ type }) => ({
        reason: type,
        message: `Status condition transitioned, Type: ${type}, Status: Unknown -> True, Reason: ${type}`,
      })),
    )
  })

  test('another new condition, one that is gone and one with a new reason only are no transitions', () => {
    expect(transitions('NodeClaim', [], [registered])).toEqual([])
    expect(transitions('NodeClaim', [registered], [])).toEqual([])
    expect(transitions('NodeClaim', [registered], [{ ...registered, reason: 'StillNotFound' }])).toEqual([])
  })
})
