import { describe, expect, it, test } from 'vitest'
import { sampleClaim, sampleTime } from '../../test/samples/sample-objects.ts'
import { awayAnnotation, awayMs, type Beat, type Gap, gapsBefore, runsSince, totalMs } from './time-away.ts'

const s = (seconds: number) => sampleTime + seconds * 1000
const gap = (from: number, to: number): Gap => ({ fromMs: s(from), toMs: s(to) })
const withGaps = (text: string) => sampleClaim('a', { metadata: { annotations: { 'joiner.sh/time-away': text } } })
const added = (...gaps: readonly Gap[]) =>
  sampleClaim('a', { metadata: { annotations: awayAnnotation(sampleClaim('a'), gaps) ?? {} } })
const beat = (at: number, more: Partial<Beat> = {}): Beat => ({ atMs: s(at), gaps: [], ...more })

describe('the gaps before an attempt', () => {
  const first = { attempt: 1, firstScheduledMs: s(0), scheduledMs: s(0), startedMs: s(0) }
  const third = { attempt: 3, firstScheduledMs: s(0), scheduledMs: s(100), startedMs: s(100) }
  it.each<[string, Parameters<typeof gapsBefore>, readonly Gap[]]>([
    ['none, with all services up', [first, {}], []],
    ['none for less than 5 s', [{ ...first, startedMs: s(4.9) }, {}], []],
    ['from its scheduling to its start', [{ ...first, startedMs: s(900) }, {}], [gap(0, 900)]],
    [
      'also from the end of the step before',
      [{ ...first, startedMs: s(900) }, { idleSinceMs: s(-60) }],
      [gap(-60, 900)],
    ],
    ['none where the step before ended just now', [first, { idleSinceMs: s(-1) }], []],
    ['none where the clock of the step before is ahead', [first, { idleSinceMs: s(30) }], []],
    ['from the last heartbeat of a lost worker', [third, { last: beat(40) }], [gap(40, 100)]],
    ['to the start, not the scheduling', [{ ...third, startedMs: s(700) }, { last: beat(40) }], [gap(40, 700)]],
    ['not the back-off after a failure', [third, { last: beat(40, { hasEnded: true }) }], []],
    [
      'but the wait after that back-off',
      [{ ...third, startedMs: s(700) }, { last: beat(40, { hasEnded: true }) }],
      [gap(100, 700)],
    ],
    ['those of earlier attempts', [third, { last: beat(95, { gaps: [gap(0, 50)] }) }], [gap(0, 50), gap(95, 100)]],
    ['everything, where no attempt could send a heartbeat', [third, { idleSinceMs: s(-60) }], [gap(-60, 100)]],
  ])('are %s', (_, input, gaps) => {
    expect(gapsBefore(...input)).toEqual(gaps)
  })
})

test.each([
  ['its scheduling', 1, 4.9, 0],
  ['its start, after a wait for a worker or where Temporal’s clock is behind', 1, 360, 360],
  ['its scheduling, whatever attempt it is', 2, 360, 0],
])('the time of an activity runs from %s', (_, attempt, started, since) => {
  expect(runsSince({ attempt, firstScheduledMs: s(0), scheduledMs: s(0), startedMs: s(started) })).toBe(s(since))
})

describe('the gaps that a claim keeps', () => {
  it('are readable, and added twice change nothing', () => {
    expect(awayAnnotation(sampleClaim('a'), [gap(60, 1260.5)])).toEqual({
      'joiner.sh/time-away': '2026-01-01T00:01:00.000Z/2026-01-01T00:21:00.500Z',
    })
    expect(awayAnnotation(added(gap(60, 1260)), [gap(60, 1260), gap(70, 90)])).toBeUndefined()
    expect(awayAnnotation(sampleClaim('a'), [])).toBeUndefined()
  })

  it.each<[string, readonly Gap[], number, number]>([
    ['all since its start', [gap(10, 20), gap(50, 80)], 0, 40],
    ['what overlaps once', [gap(10, 40), gap(20, 50)], 0, 40],
    ['those after a later start', [gap(10, 20), gap(50, 80)], 30, 30],
    ['a part of the one in which it starts', [gap(10, 20), gap(50, 80)], 60, 20],
    ['none of those before', [gap(10, 20)], 20, 0],
  ])('extend a limit by %s', (_, gaps, since, seconds) => {
    expect(awayMs(added(...gaps), s(since))).toBe(seconds * 1000)
  })

  it('are no more than 20 days together, whatever somebody wrote', () => {
    expect(awayMs(withGaps('2026-01-01T00:00:00Z/9999-01-01T00:00:00Z'), sampleTime)).toBe(20 * 86_400_000)
  })

  const older = '2025-12-31T23:00:00Z/2026-01-01T06:00:00Z'
  test.each([older, '', 'x', 'x/y', '2026-01-01T00:02:00Z', '2026-01-01T00:02:00Z/2026-01-01T00:01:00Z', '/', ',,/,'])(
    'count nothing where the annotation is %j',
    (text) => {
      expect(awayMs(withGaps(text), sampleTime)).toBe(0)
      expect(awayAnnotation(withGaps(text), [gap(60, 120)])).toEqual({
        'joiner.sh/time-away': '2026-01-01T00:01:00.000Z/2026-01-01T00:02:00.000Z',
      })
    },
  )

  it('stay few, count no less for that, and stay the same when they are added again', () => {
    const many = Array.from({ length: 100 }, (_, at) => gap(at * 60 + (at % 7), at * 60 + 30))
    const claim = many.reduce(
      (known, each) =>
        sampleClaim('a', { metadata: { annotations: awayAnnotation(known, [each]) ?? known.metadata.annotations } }),
      sampleClaim('a'),
    )
    const text = claim.metadata.annotations['joiner.sh/time-away'] ?? ''
    expect(text.split(',')).toHaveLength(16)
    expect(awayMs(claim, sampleTime)).toBeGreaterThanOrEqual(totalMs(many))
    expect(awayAnnotation(claim, many)).toBeUndefined()
  })
})
