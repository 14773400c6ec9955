import { describe, expect, it, test } from 'vitest'
import { CrashCounts, inForce, objectOf, quarantineId, withEntry } from './quarantine.ts'

const hour = 3_600_000
const web = { id: 'Pod/default/web-1', hash: 'h1', cause: 'time limit: no answer within 90 s' }
const one = withEntry(new Map(), web, 1000)

test('an id leads back to kind and key', () => {
  expect(objectOf(quarantineId('Pod', 'default/web-1'))).toEqual({ kind: 'Pod', key: 'default/web-1' })
  expect(objectOf(quarantineId('StorageClass', 'fast'))).toEqual({ kind: 'StorageClass', key: 'fast' })
})

describe('an entry', () => {
  it.each([
    ['as long as the spec is the same', 'h1', hour + 999, true],
    ['not after an hour', 'h1', hour + 1000, false],
    ['not for another spec', 'h2', 2000, false],
    ['of a pod that is gone, for others of its shape', undefined, 2000, true],
    ['also where the clock of another process is five minutes ahead', 'h1', 1000 - 300_000, true],
    ['not where the clock was set back since', 'h1', 999 - 300_000, false],
  ])('holds %s', (_, hash, now, holds) => {
    expect(inForce(one, () => hash, now).has(web.id)).toBe(holds)
  })

  it('of another object ends when that is gone', () => {
    const entries = withEntry(new Map(), { ...web, id: 'StorageClass/fast' }, 1000)
    expect(inForce(entries, () => undefined, 2000).size).toBe(0)
  })
})

test('there are no more than 200 entries, and the oldest goes first', () => {
  let entries = withEntry(new Map(), web, 0)
  for (let at = 0; at < 250; at++) entries = withEntry(entries, { ...web, id: `Pod/default/p-${at}` }, at)
  expect(entries.size).toBe(200)
  expect([...entries.keys()].at(0)).toBe('Pod/default/p-50')
  expect([...withEntry(entries, { ...web, id: 'Pod/default/p-50' }, 300).keys()].at(-1)).toBe('Pod/default/p-50')
})

test('causes are short', () => {
  const entries = withEntry(new Map(), { ...web, cause: 'x'.repeat(10_000) }, 0)
  expect(entries.get(web.id)?.cause.length).toBe(500)
})

test('the second crash of an object with the same spec is reported', () => {
  const counts = new CrashCounts()
  expect([counts.add('a', 'h1'), counts.add('b', 'h1'), counts.add('a', 'h2'), counts.add('a', 'h2')]).toEqual([
    false,
    false,
    false,
    true,
  ])
})
