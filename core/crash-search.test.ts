import { assert, boolean, constantFrom, func, property, string, uniqueArray } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CrashSearch } from './crash-search.ts'

/** Runs passes until everything is planned or found. Returns the found and the planned members, and the number of crashed passes. */
function run(members: readonly string[], crashes: (tried: readonly string[]) => string | undefined | false) {
  const search = new CrashSearch()
  const found = new Set<string>()
  const planned = new Set<string>()
  let crashed = 0
  for (let pass = 0; pass < 10 * members.length + 10; pass++) {
    const trial = search.trial
    const left = members.filter((one) => !found.has(one) && !planned.has(one))
    const tried = left.filter((one) => trial?.has(one) !== false)
    const inHand = crashes(tried)
    if (inHand === false) {
      search.passed()
      for (const one of tried) planned.add(one)
      if (search.trial === undefined && tried.length === left.length) break
      continue
    }
    crashed += 1
    const verdict = search.crashed(tried, inHand)
    if (verdict.kind === 'found') found.add(verdict.member)
    if (verdict.kind === 'outside') return { found: [...found], planned: [...planned].sort(), crashed, isOutside: true }
  }
  return { found: [...found], planned: [...planned].sort(), crashed, isOutside: false }
}

const has = (tried: readonly string[], ...members: readonly string[]) => members.every((one) => tried.includes(one))

describe('the search for members that crash a pass', () => {
  it('needs two crashes when the thread reports its pod, and plans all others in between', () => {
    expect(run(['a', 'b', 'c', 'd'], (tried) => (has(tried, 'c') ? 'c' : false))).toEqual({
      found: ['c'],
      planned: ['a', 'b', 'd'],
      crashed: 2,
      isOutside: false,
    })
  })

  it('needs two crashes for a single member as well', () => {
    expect(run(['c'], (tried) => (has(tried, 'c') ? 'c' : false))).toMatchObject({ found: ['c'], crashed: 2 })
    expect(run(['c'], (tried) => (has(tried, 'c') ? undefined : false))).toMatchObject({ found: ['c'], crashed: 2 })
  })

  it('halves the members where nothing is known', () => {
    const { found, planned, crashed } = run(['a', 'b', 'c', 'd'], (tried) => (has(tried, 'c') ? undefined : false))
    expect([found, planned]).toEqual([['c'], ['a', 'b', 'd']])
    expect(crashed).toBe(3)
  })

  it('finds no member when a pass without members crashes as well', () => {
    expect(run(['a', 'b'], () => undefined)).toMatchObject({ found: [], isOutside: true })
  })

  it('finds no member when no pass ends well, whatever the thread reports', () => {
    expect(run(['a', 'b', 'c'], (tried) => tried[0])).toMatchObject({ found: [], planned: [], isOutside: true })
  })

  it('finds no member when only two together crash a pass, and plans both', () => {
    expect(run(['a', 'b', 'c'], (tried) => (has(tried, 'a', 'c') ? 'c' : false))).toMatchObject({
      found: [],
      planned: ['a', 'b', 'c'],
    })
  })

  it('finds no member for a crash that does not recur', () => {
    let left = 1
    expect(run(['a', 'b'], () => (left-- > 0 ? undefined : false))).toMatchObject({ found: [], planned: ['a', 'b'] })
  })

  it('finds exactly the members that crash a pass, whatever the thread reports', () => {
    const names = uniqueArray(string({ minLength: 1 }), { minLength: 1, maxLength: 20 })
    assert(
      property(names, func(boolean()), func(constantFrom('first', 'none')), (members, isGuilty, says) => {
        const guilty = members.filter((one) => isGuilty(one))
        const { found, planned, isOutside } = run(members, (tried) => {
          const [first] = tried.filter((one) => guilty.includes(one))
          if (first === undefined) return false
          return says(tried.length) === 'first' ? first : undefined
        })
        expect(found.sort()).toEqual(guilty.sort())
        expect(planned).toEqual(members.filter((one) => !guilty.includes(one)).sort())
        expect(isOutside).toBe(false)
      }),
    )
  })
})
