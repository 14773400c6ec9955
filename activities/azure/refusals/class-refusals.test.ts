import { describe, expect, it } from 'vitest'
import { type Marks, markKey, noMarks } from '../capacity/mark.ts'
import { formatMarks, parseMarks } from '../capacity/mark-format.ts'
import { classMarkOf } from './class-marks.ts'
import { type ClassRefusal, refusedSizes, withAcceptance, withoutStale, withRefusal } from './class-refusals.ts'
import { hasTurn, turnOf, withTurn, withTurnBack } from './class-turns.ts'

const second = 1000
const minute = 60 * second
const nodeClass = 'default'
const start = 1_000_000

const refused = (instanceType: string, change: Partial<ClassRefusal> = {}): ClassRefusal => ({
  nodeClass,
  instanceType,
  family: instanceType.slice(0, 1),
  capacityType: 'on-demand',
  code: 'InvalidParameter',
  signature: 'foo is invalid',
  reason: 'SizeRefused',
  cause: 'InvalidParameter: foo is invalid',
  turn: '',
  state: 's1',
  ...change,
})

const after = (...refusals: readonly ClassRefusal[]): Marks =>
  refusals.reduce<Marks>((marks, one) => withRefusal(marks, one, start), noMarks)
const kinds = (marks: Marks) =>
  [...marks.values()].map((mark) => (mark.kind === 'size' ? mark.instanceType : mark.kind))
const at = (nowMs: number, state = 's1') => ({ nowMs, state })
const taken = (
  nowMs: number,
  change: { turn?: string; family?: string; state?: string; capacityType?: string } = {},
) => ({
  nowMs,
  turn: 't',
  family: 'Z',
  capacityType: 'on-demand',
  state: 's1',
  ...change,
})

describe('refusals', () => {
  it.each<[string, readonly ClassRefusal[], readonly string[]]>([
    ['of one size mark it', [refused('a'), refused('a'), refused('a')], ['a']],
    ['of two sizes, equal, mark the class alone', [refused('a'), refused('b')], ['class']],
    ['of two sizes that differ mark both', [refused('a'), refused('b', { signature: 'bar' })], ['a', 'b']],
    [
      'of three sizes with one code mark the class, whatever the words',
      ['a', 'b', 'c'].map((size) => refused(size, { signature: size })),
      ['class'],
    ],
    [
      'of three sizes with three codes mark each',
      ['a', 'b', 'c'].map((size) => refused(size, { signature: size, code: size })),
      ['a', 'b', 'c'],
    ],
    [
      'leave the mark of a size with another cause',
      [refused('a', { signature: 'bar', code: 'Other' }), refused('b'), refused('c')],
      ['a', 'class'],
    ],
    ['of two classes are counted apart', [refused('a'), refused('b', { nodeClass: 'other' })], ['a', 'b']],
  ])('%s', (_, refusals, expected) => {
    expect(kinds(after(...refusals))).toEqual(expected)
  })

  it('that other sizes do not get take more sizes to mark the class', () => {
    const settled = withAcceptance(after(refused('a'), refused('b')), { nodeClass, instanceType: 'z' }, start)
    const more = (...sizes: readonly string[]) =>
      kinds(sizes.reduce((marks, size) => withRefusal(marks, refused(size), start), settled))
    expect(more('c', 'd', 'e')).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(more('c', 'd', 'e', 'f')).toEqual(['a', 'b', 'class'])
    expect(
      kinds(
        withRefusal(
          withRefusal(settled, refused('c', { signature: 'bar' }), start),
          refused('d', { signature: 'bar' }),
          start,
        ),
      ),
    ).toEqual(['a', 'b', 'class'])
  })

  it('survive the ConfigMap as they are', () => {
    for (const marks of [after(refused('a')), after(refused('a'), refused('b'))])
      expect(parseMarks(formatMarks(marks)).marks).toEqual(marks)
  })

  it('name what was refused, until the marks end', () => {
    const marks = after(refused('a'), refused('b'))
    expect([...refusedSizes(marks, nodeClass, start)]).toEqual(['a', 'b'])
    expect([...refusedSizes(marks, 'other', start)]).toEqual([])
    expect([...refusedSizes(marks, nodeClass, start + 61 * minute)]).toEqual([])
  })
})

describe('a size on trial', () => {
  it('lets one launch go after a second, and all others wait for its answer', () => {
    const marks = after(refused('a'))
    expect(turnOf(marks, nodeClass, at(start))).toEqual({ kind: 'wait', untilMs: start + second })
    expect(turnOf(marks, 'other', at(start))).toEqual({ kind: 'free' })
    const going = withTurn(marks, nodeClass, taken(start + second))
    expect(hasTurn(going, nodeClass, { turn: 't', nowMs: start + second })).toBe(true)
    expect(turnOf(going, nodeClass, at(start + second))).toMatchObject({ kind: 'wait' })
    expect(withTurn(going, nodeClass, taken(start + second, { turn: 'other' }))).toBe(going)
    // An answer that never comes delays no caller for long.
    expect(turnOf(going, nodeClass, at(start + 31 * second))).toEqual({ kind: 'turn' })
  })

  it('is not let go twice by refusals of launches that were under way', () => {
    const going = withTurn(after(refused('a')), nodeClass, taken(start + second))
    const late = withRefusal(going, refused('a'), start + 1500)
    expect(turnOf(late, nodeClass, at(start + 1500))).toMatchObject({ kind: 'wait' })
    expect(hasTurn(late, nodeClass, { turn: 't', nowMs: start + 1500 })).toBe(true)
  })

  it('is the size at fault once Azure accepts another', () => {
    const marks = withAcceptance(after(refused('a')), { nodeClass, instanceType: 'b' }, start)
    expect(kinds(marks)).toEqual(['a'])
    expect(turnOf(marks, nodeClass, at(start))).toEqual({ kind: 'free' })
  })

  it('is forgotten once Azure accepts it', () => {
    expect(withAcceptance(after(refused('a')), { nodeClass, instanceType: 'a' }, start).size).toBe(0)
  })

  it('goes on at once after a lack of capacity, and soon after a failure that says nothing', () => {
    const going = withTurn(after(refused('a')), nodeClass, taken(start + second))
    const back = (isCapacity: boolean) =>
      turnOf(
        withTurnBack(going, nodeClass, { turn: 't', nowMs: start + second, isCapacity }),
        nodeClass,
        at(start + second),
      )
    expect(back(true)).toEqual({ kind: 'turn' })
    expect(back(false)).toEqual({ kind: 'wait', untilMs: start + 6 * second })
    expect(withTurnBack(going, nodeClass, { turn: 'other', nowMs: start + second, isCapacity: true })).toBe(going)
  })

  it('is offered again after 10 minutes, to one launch', () => {
    const marks = after(refused('a'))
    const later = start + 11 * minute
    expect([...marks.values()].every(({ untilMs }) => untilMs < later)).toBe(true)
    expect(turnOf(marks, nodeClass, at(later))).toEqual({ kind: 'turn' })
  })

  it('is forgotten when the class asks for something else', () => {
    const marks = after(refused('a'))
    expect(withoutStale(marks, nodeClass, 's1')).toBe(marks)
    expect(withoutStale(marks, nodeClass, 's2').size).toBe(0)
    expect(withoutStale(marks, 'other', 's2')).toBe(marks)
  })
})

describe('a class that is marked', () => {
  const marked = after(refused('a1'), refused('b1'))

  it('lets one launch go after 30 s, then after twice as long, up to 10 minutes', () => {
    let [marks, now] = [marked, start]
    const waits: number[] = []
    for (let probe = 0; probe < 8; probe += 1) {
      const turn = turnOf(marks, nodeClass, at(now))
      const untilMs = turn.kind === 'wait' ? turn.untilMs : now
      waits.push((untilMs - now) / second)
      now = untilMs
      marks = withTurn(marks, nodeClass, taken(now, { family: `f${probe}`, turn: `t${probe}` }))
      marks = withRefusal(marks, refused(`s${probe}`, { turn: `t${probe}`, family: `f${probe}` }), now)
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 600, 600, 600])
    expect(kinds(marks)).toEqual(['class'])
  })

  it('names the families and sizes that were tried, and after three families the capacity type', () => {
    const tried = (marks: Marks) => {
      const turn = turnOf(marks, nodeClass, at(start + 10 * minute))
      return turn.kind === 'turn' ? turn.tried : undefined
    }
    expect(tried(marked)).toEqual({
      sizes: new Set(['a1', 'b1']),
      families: new Set(['a', 'b']),
      capacityTypes: new Set(),
    })
    const third = withRefusal(marked, refused('c1'), start)
    expect(tried(third)?.capacityTypes).toEqual(new Set(['on-demand']))
  })

  it('begins another round when every family was tried', () => {
    const marks = withTurn(marked, nodeClass, taken(start + minute, { family: 'a' }))
    expect(classMarkOf(marks, nodeClass, start + minute)?.families).toEqual(['a'])
  })

  it('becomes marks of the sizes that were refused when Azure accepts another', () => {
    const marks = withAcceptance(marked, { nodeClass, instanceType: 'c1' }, start)
    expect(kinds(marks)).toEqual(['a1', 'b1'])
    expect(turnOf(marks, nodeClass, at(start))).toEqual({ kind: 'free' })
    for (const mark of marks.values()) expect(mark.cause).toContain('foo is invalid')
  })

  it('is over when Azure accepts a size that it had refused', () => {
    expect(withAcceptance(marked, { nodeClass, instanceType: 'b1' }, start).size).toBe(0)
  })

  it('lets one launch go at once when class or settings have changed, and as for the first time', () => {
    expect(turnOf(marked, nodeClass, at(start, 's2'))).toEqual({ kind: 'turn' })
    const going = withTurn(marked, nodeClass, taken(start, { state: 's2' }))
    expect(turnOf(going, nodeClass, at(start, 's2'))).toEqual({ kind: 'wait', untilMs: start + 30 * second })
    // The one before is not tried again by a replica that still has it.
    expect(turnOf(going, nodeClass, at(start, 's1'))).toMatchObject({ kind: 'wait' })
    expect(withAcceptance(going, { nodeClass, instanceType: 'c1' }, start).size).toBe(0)
  })

  it('gives the turn back after a lack of capacity, and not after other failures', () => {
    const now = start + 30 * second
    const going = withTurn(marked, nodeClass, taken(now))
    const back = (isCapacity: boolean) => withTurnBack(going, nodeClass, { turn: 't', nowMs: now, isCapacity })
    expect(turnOf(back(true), nodeClass, at(now))).toMatchObject({ kind: 'turn' })
    expect(back(false)).toBe(going)
  })

  it('quotes the last refusal, where the cause has changed', () => {
    const marks = withRefusal(
      marked,
      refused('c1', { cause: 'BadRequest: bar', code: 'BadRequest', signature: 'bar' }),
      start,
    )
    expect(classMarkOf(marks, nodeClass, start)?.cause).toBe('BadRequest: bar')
    expect(kinds(marks)).toEqual(['class'])
  })

  it('ends an hour after its last refusal', () => {
    expect(classMarkOf(marked, nodeClass, start + 59 * minute)).toBeDefined()
    expect(turnOf(marked, nodeClass, at(start + 61 * minute))).toEqual({ kind: 'free' })
  })

  it('is one mark, however many sizes are refused', () => {
    const many = Array.from({ length: 200 }, (_, index) => refused(`size-${index}`))
    const marks = after(...many)
    expect([...marks.values()].map(markKey)).toHaveLength(1)
    expect(classMarkOf(marks, nodeClass, start)?.sizes.length).toBeLessThanOrEqual(50)
  })
})

describe('a turn as no launch would have written it', () => {
  const marked = after(refused('a1'), refused('b1'))
  const trial = after(refused('a1'))
  /** Marks with other values in their turn, as they are read from the ConfigMap. */
  const edited = (marks: Marks, change: Readonly<Record<string, unknown>>) =>
    parseMarks(
      Object.fromEntries(
        Object.entries(formatMarks(marks)).map(([key, text]) => {
          const { trial: own, ...mark } = JSON.parse(text) as Record<string, object>
          return [
            key,
            JSON.stringify(own === undefined ? { ...mark, ...change } : { ...mark, trial: { ...own, ...change } }),
          ]
        }),
      ),
    ).marks

  it.each([marked, trial])('that is a year away, since a clock was wrong, is due', (marks) => {
    const later = edited(marks, {
      nextAtMs: start + 365 * 24 * 60 * minute,
      until: new Date(start * 1e6).toISOString(),
    })
    expect(turnOf(later, nodeClass, at(start))).toMatchObject({ kind: 'turn' })
    const going = withTurn(later, nodeClass, taken(start))
    expect(turnOf(going, nodeClass, at(start))).toMatchObject({ kind: 'wait' })
  })

  it('without a wait still has one after each launch', () => {
    const going = withTurn(edited(marked, { waitMs: 0 }), nodeClass, taken(start + minute))
    expect(turnOf(going, nodeClass, at(start + minute))).toEqual({ kind: 'wait', untilMs: start + 90 * second })
  })

  it.each([8.65e15, -8.65e15])('at no time at all (%d) is none, so that it can be shown', (nextAtMs) => {
    expect(edited(marked, { nextAtMs }).size).toBe(0)
    expect([...edited(trial, { nextAtMs }).values()].filter((mark) => 'trial' in mark)).toEqual([])
  })
})
