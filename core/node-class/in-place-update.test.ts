import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inPlaceChange, isNothing } from './in-place-update.ts'
import type { InPlaceState } from './in-place-update-hash.ts'

const change = (
  tags: InPlaceState['tags'],
  ours: readonly string[],
  wanted: InPlaceState['tags'],
  identities: { readonly actual?: readonly string[]; readonly wanted?: readonly string[] } = {},
) =>
  inPlaceChange({ tags, identities: identities.actual ?? [] }, ours, {
    tags: wanted,
    identities: identities.wanted ?? [],
  })

describe('the in-place change of a VM', () => {
  it.each<[string, Parameters<typeof change>, ReturnType<typeof change>]>([
    ['nothing', [{ a: '1' }, ['a'], { a: '1' }], {}],
    ['a new tag', [{ a: '1' }, ['a'], { a: '1', b: '2' }], { tags: { a: '1', b: '2' } }],
    ['a new value', [{ a: '1' }, ['a'], { a: '2' }], { tags: { a: '2' } }],
    ['a tag of ours that is not wanted any more', [{ a: '1', b: '2' }, ['a', 'b'], { a: '1' }], { tags: { a: '1' } }],
    ["somebody else's tag stays", [{ a: '1', theirs: 'x' }, ['a'], { a: '2' }], { tags: { theirs: 'x', a: '2' } }],
    ["nothing but somebody else's tag", [{ a: '1', theirs: 'x' }, ['a'], { a: '1' }], {}],
    ["somebody else's tag becomes ours", [{ a: '1', b: 'x' }, ['a'], { a: '1', b: '2' }], { tags: { a: '1', b: '2' } }],
    ['a name in other letters is the same', [{ Team: 'x' }, ['team'], { team: 'x' }], {}],
    ['and has one value', [{ Team: 'x' }, [], { team: 'y' }], { tags: { team: 'y' } }],
    ['and goes as well', [{ Team: 'x', a: '1' }, ['team', 'a'], { a: '1' }], { tags: { a: '1' } }],
    [
      'an identity that is missing',
      [{}, [], {}, { actual: ['/a', '/theirs'], wanted: ['/A', '/b'] }],
      { identities: ['/b'] },
    ],
    ['no identity is removed', [{}, [], {}, { actual: ['/a'], wanted: [] }], {}],
  ])('%s', (_, input, expected) => {
    const found = change(...input)
    expect(found).toEqual(expected)
    expect(isNothing(found)).toBe(Object.keys(expected).length === 0)
  })

  it('is nothing once it was done, and keeps what others set', () => {
    const tags = fc.dictionary(fc.constantFrom('a', 'B', 'b', 'c', 'd', 'e'), fc.constantFrom('1', '2'))
    fc.assert(
      fc.property(tags, tags, fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')), (first, wanted, ours) => {
        // Azure holds one tag of a name, whatever its case.
        const actual = Object.fromEntries(Object.entries(first).filter(([key]) => key !== 'B' || !('b' in first)))
        const goal = Object.fromEntries(Object.entries(wanted).filter(([key]) => key !== 'B' || !('b' in wanted)))
        const after = change(actual, ours, goal).tags ?? actual
        expect(change(after, Object.keys(goal), goal)).toEqual({})
        // A crash in between repeats the change with the earlier state.
        expect(change(after, ours, goal)).toEqual({})
        if (!ours.includes('c') && !('c' in goal)) expect(after['c']).toBe(actual['c'])
      }),
    )
  })
})
