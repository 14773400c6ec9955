import { describe, expect, it } from 'vitest'
import {
  formatRefusal,
  type NodeRefusals,
  nextClaimAt,
  parseRefusals,
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

it('is read as it was written, and what is not so is left out', () => {
  const all = withRefusal(none, { ...found, claim: 'a', claims: { a: 5 } }, 10)
  const texts = [...all.values()].map(formatRefusal)
  expect(parseRefusals(texts)).toEqual(all)
  const odd = ['', 'null', '[]', '{}', ...texts.map((text) => text.replace('"claims":{"a":5}', '"claims":{"a":"5"}'))]
  expect(parseRefusals(odd).size).toBe(0)
})
