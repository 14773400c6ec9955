import { describe, expect, test } from 'vitest'
import { liftAskedFor, pauseAskedFor, pauseRefusal, resumeRefusal } from './pause-requests.ts'

const now = Date.parse('2026-11-21T12:00:00Z')

describe('an update is refused', () => {
  test.each<[unknown, string]>([
    [{ scope: { zone: '1' } }, 'scope {"zone":"1"}: not a kind of scope; use {"nodePool": NAME}'],
    [{ scope: { nodePool: 'a', node: 'b' } }, 'more than one field'],
    [{ scope: { reason: 'Old' } }, 'not a disruption reason; use Unhealthy, Empty, Drifted, Underutilized'],
    [{ scope: { nodePool: 'No Name' } }, 'not the name of an object in Kubernetes'],
    [{ scope: 'general' }, 'is not an object'],
    [{ until: 'tomorrow' }, 'until "tomorrow": not an RFC 3339 time; write it as'],
    [{ until: '2026' }, 'not an RFC 3339 time'],
    [{ until: '2026-13-01T00:00:00Z' }, 'not an RFC 3339 time'],
    [{ until: '2026-11-21T12:00:00Z' }, 'lies in the past (it is 2026-11-21T12:00:00.000Z)'],
    [{ untill: '2026-11-22T12:00:00Z' }, 'untill: not a field; use reason, until, by, at, scope'],
    [{ reason: 7 }, 'reason 7: not a text'],
    [{ by: 'x'.repeat(501) }, 'by: 501 characters, at most 500'],
    ['general', '"general": not an object'],
  ])('pause %j', (request, message) => {
    expect(pauseRefusal(request, 'disruption', now)).toContain(message)
  })

  test.each<[unknown, string]>([
    [{ scope: { zone: '1' } }, 'resume: scope {"zone":"1"}: not a kind of scope'],
    [{ all: 'yes' }, 'resume: all "yes": not true or false'],
    [{ all: true, scope: { node: 'a' } }, 'leave out the scope, or leave out all'],
    [{ until: 'x' }, 'until: not a field; use scope, all, by'],
  ])('resume %j', (request, message) => {
    expect(resumeRefusal(request, 'disruption')).toContain(message)
  })

  test('when it asks for a part of provisioning', () => {
    const request = { scope: { nodePool: 'general' } }
    expect(pauseRefusal(request, 'provisioning', now)).toContain('provisioning is paused as a whole')
    expect(resumeRefusal(request, 'provisioning')).toContain('provisioning is paused as a whole')
  })
})

test.each<[unknown]>([
  [undefined],
  [null],
  [{}],
  [{ scope: null, reason: null, until: null }],
  [{ scope: {} }],
  [{ reason: 'why', by: 'alice', until: '2026-11-21T13:00:00+00:30', scope: { reason: 'Drifted' } }],
])('an update with %j is accepted', (request) => {
  expect(pauseRefusal(request, 'disruption', now)).toBeUndefined()
})

describe('a signal', () => {
  test('is accepted as written', () => {
    const request = { reason: 'why', by: 'alice', until: '2026-11-21T13:00:00Z', scope: { nodePool: 'general' } }
    expect(pauseAskedFor(request, 'disruption', now)).toEqual({
      reason: 'why',
      by: 'alice',
      sinceMs: now,
      untilMs: now + 3_600_000,
      scope: { kind: 'nodePool', name: 'general' },
    })
  })

  test.each<[unknown]>([[undefined], [null], ['text'], [{ reason: 7, by: 7 }]])('with %j pauses all', (request) => {
    expect(pauseAskedFor(request, 'disruption', now)).toEqual({
      reason: 'no reason given',
      sinceMs: now,
      scope: { kind: 'cluster' },
    })
  })

  test('records unreadable parts in the reason, and brakes', () => {
    const { reason, scope, untilMs } = pauseAskedFor({ until: 'later', scope: { zone: '1' } }, 'disruption', now)
    expect([scope, untilMs]).toEqual([{ kind: 'cluster' }, undefined])
    expect(reason).toMatch(/^no reason given; until "later" is not .*: no end; scope {"zone":"1"}: .*: all is paused$/)
  })

  test('to resume lifts the named pauses, and nothing when they cannot be read', () => {
    expect(liftAskedFor(undefined, 'disruption')).toEqual({ scope: { kind: 'cluster' }, all: false })
    expect(liftAskedFor({ scope: { node: 'n' }, by: 'bob' }, 'disruption')).toEqual({
      scope: { kind: 'node', name: 'n' },
      all: false,
      by: 'bob',
    })
    expect(liftAskedFor({ all: true }, 'disruption')).toMatchObject({ all: true })
    expect(liftAskedFor({ scope: { zone: '1' } }, 'disruption')).toBeUndefined()
  })
})
