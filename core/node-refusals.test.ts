import { describe, expect, it } from 'vitest'
import {
  formatRefusal,
  type NodeRefusal,
  type NodeRefusals,
  nextClaimAt,
  reviewed,
  withClaim,
  withRefusal,
} from './node-refusals.ts'

const found = { podClass: 'c', pod: 'shop/web-1', nodePool: 'default', state: 's', message: 'no', claims: {} }
const [second, minute] = [1000, 60_000]
const none: NodeRefusals = new Map()
const untilOf = (all: NodeRefusals) => {
  const one = all.get('c')
  return one === undefined ? Number.NEGATIVE_INFINITY : nextClaimAt(one)
}

describe('the back-off after refused nodes', () => {
  it('takes 30 s, twice as long each time, and half an hour at most', () => {
    let all = none
    const waits: number[] = []
    for (let turn = 0, now = 0; turn < 9; turn++) {
      all = withRefusal(all, { ...found, claim: `n${turn}` }, now)
      waits.push((untilOf(all) - now) / second)
      now = untilOf(all)
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1800, 1800, 1800])
  })

  it('lets three NodeClaims be created in five minutes, however soon each is refused', () => {
    let all = none
    const created: number[] = []
    for (let now = 0; now < 60 * minute; now += second) {
      if (untilOf(all) > now) continue
      const claim = `n${created.length}`
      created.push(now)
      all = withClaim(all, { podClass: 'c', claim }, now)
      all = withRefusal(all, { ...found, claim, claims: { [claim]: now } }, now + second)
    }
    const inFiveMinutes = created.map((at) => created.filter((other) => other >= at && other < at + 5 * minute).length)
    expect(Math.max(...inFiveMinutes)).toBe(3)
    expect(created.length).toBe(7)
  })

  it('lets the fourth wait after three that were created before the first refusal', () => {
    const claims = { a: 0, b: second, c: 2 * second }
    expect(untilOf(withRefusal(none, { ...found, claim: 'a', claims }, 20 * second))).toBe(5 * minute)
  })

  it('counts nodes that were made before it once, and each node once', () => {
    const first = withRefusal(none, { ...found, claim: 'a' }, 0)
    const second = withRefusal(first, { ...found, claim: 'b' }, 1)
    expect([untilOf(second), second.get('c')?.count, second.get('c')?.refused]).toEqual([30_000, 1, ['a', 'b']])
    expect(withRefusal(second, { ...found, claim: 'a' }, minute)).toBe(second)
  })

  it.each([
    ['is over after half an hour without another node', 's', 31 * minute, []],
    ['is not over before', 's', 29 * minute, [1]],
    ['is over after a change of a NodePool or its class', 'other', minute, [0]],
  ])('%s', (_, state, now, counts) => {
    const all = reviewed(withRefusal(none, { ...found, claim: 'a' }, 0), state, now)
    expect([...all.values()].map(({ count }) => count)).toEqual(counts)
  })

  it('begins again after a change, but not with the nodes of before', () => {
    const before = withRefusal(none, { ...found, claim: 'a', claims: { a: 0, b: 0, c: 0 } }, 0)
    const changed = reviewed(before, 'other', second)
    expect(untilOf(changed)).toBe(second)
    expect(withRefusal(changed, { ...found, state: 'other', claim: 'a' }, second)).toBe(changed)
    const after = withRefusal(changed, { ...found, state: 'other', claim: 'd' }, second)
    expect([untilOf(after), after.get('c')?.count]).toEqual([31 * second, 1])
  })

  it('keeps 200 classes, those of the last refusals', () => {
    let all = none
    for (let at = 0; at < 201; at++) all = withRefusal(all, { ...found, podClass: `c${at}`, claim: 'a' }, at)
    expect([all.size, all.has('c0'), all.has('c200')]).toEqual([200, false, true])
  })
})

describe('a clock that was wrong', () => {
  const year = 365 * 24 * 60 * minute
  it.each<[string, NodeRefusals]>([
    ['when a node was refused', withRefusal(none, { ...found, claim: 'a' }, year)],
    [
      'when NodeClaims were created',
      ['b', 'd', 'e'].reduce(
        (all, claim) => withClaim(all, { podClass: 'c', claim }, year),
        withRefusal(none, { ...found, claim: 'a' }, 0),
      ),
    ],
  ])('%s holds no pod back', (_, all) => {
    expect(untilOf(reviewed(all, 's', second))).toBeLessThanOrEqual(5 * minute)
  })
})

it('fits into a ConfigMap, however many nodes were bought together', () => {
  let all = none
  const name = (at: number) => `${'n'.repeat(58)}${at}`
  const claims = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [name(at), 1_800_000_000_000 + at]))
  for (let at = 0; at < 200; at++)
    for (let node = 0; node < 25; node++)
      all = withRefusal(
        all,
        {
          ...found,
          podClass: `${at}`.padEnd(16, 'c'),
          pod: `${'s'.repeat(63)}/${'p'.repeat(63)}`,
          message: 'n'.repeat(9000),
          claims,
          claim: name(node),
        },
        1_800_000_001_000,
      )
  const bytes = [...all].reduce((sum, [key, one]) => sum + key.length + Buffer.byteLength(formatRefusal(one)), 0)
  expect(bytes).toBeLessThan(1024 * 1024)
  expect(untilOf(new Map([['c', [...all.values()][0] as NodeRefusal]]))).toBe(1_800_000_000_897 + 5 * minute)
})
