import { array, assert, boolean, constantFrom, infiniteStream, nat, property, record } from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ObjectMeta } from '../../../core/objects.ts'
import { sampleMeta } from '../../../test/samples/sample-objects.ts'
import { Store } from './store.ts'

interface Thing {
  readonly metadata: ObjectMeta
  readonly node?: string
}

const thing = (name: string, version: number, node?: string, uid = `uid-${name}`): Thing => ({
  metadata: sampleMeta(name, { resourceVersion: String(version), uid }),
  ...(node === undefined ? {} : { node }),
})
const storeOf = () => new Store<Thing>({ byNode: ({ node }) => node })

/** Enters an object as the cache does: only if it is newer. */
function enter(store: Store<Thing>, one: Thing): boolean {
  const isNews = store.admits(one.metadata.name, one.metadata)
  if (isNews) store.set(one.metadata.name, one)
  return isNews
}

describe('what is newer', () => {
  test.each<[string, (store: Store<Thing>) => void, Thing, boolean]>([
    ['an object that was not there', () => {}, thing('a', 5), true],
    ['a later version', (store) => enter(store, thing('a', 5)), thing('a', 6), true],
    ['the same version', (store) => enter(store, thing('a', 5)), thing('a', 5), false],
    ['an earlier version', (store) => enter(store, thing('a', 5)), thing('a', 4), false],
    [
      'a version that is later as a number and not as a text',
      (store) => enter(store, thing('a', 9)),
      thing('a', 10),
      true,
    ],
    [
      'a late event of an object that was deleted',
      (store) => store.delete('a', { uid: 'uid-a' }, '9'),
      thing('a', 9),
      false,
    ],
    [
      'an event after the deletion that was heard of',
      (store) => store.delete('a', { uid: 'uid-a' }, '9'),
      thing('a', 10),
      true,
    ],
    [
      'another object of the name',
      (store) => store.delete('a', { uid: 'uid-a' }, '9'),
      thing('a', 3, undefined, 'other'),
      true,
    ],
  ])('%s', (_, before, one, isNews) => {
    const store = storeOf()
    before(store)
    expect(store.admits('a', one.metadata)).toBe(isNews)
  })

  test('a deletion of an object that was replaced by another of the name takes nothing away', () => {
    const store = storeOf()
    enter(store, thing('a', 9, undefined, 'newer'))
    store.delete('a', { uid: 'older' }, '8')
    expect(store.get('a')?.metadata.uid).toBe('newer')
  })
})

describe('an index', () => {
  test('follows an object that moves, and forgets one that goes', () => {
    const store = storeOf()
    enter(store, thing('a', 1, 'n1'))
    enter(store, thing('b', 2, 'n1'))
    const names = (node: string) => store.by('byNode', node).map(({ metadata }) => metadata.name)
    expect(names('n1')).toEqual(['a', 'b'])
    enter(store, thing('a', 3, 'n2'))
    expect([names('n1'), names('n2')]).toEqual([['b'], ['a']])
    store.delete('b', { uid: 'uid-b' }, '4')
    enter(store, thing('a', 5))
    expect([names('n1'), names('n2'), store.size]).toEqual([[], [], 1])
  })

  test('that cannot be made of an object leaves everything as it was', () => {
    const store = new Store<Thing>({
      byNode: ({ node }) => {
        if (node === 'bad') throw new Error('bad')
        return node
      },
    })
    store.set('a', thing('a', 1, 'n1'))
    expect(() => store.set('a', thing('a', 2, 'bad'))).toThrow('bad')
    expect(store.get('a')?.metadata.resourceVersion).toBe('1')
    expect(store.by('byNode', 'n1')).toHaveLength(1)
  })
})

test('versions up to which all was reported are compared as numbers', () => {
  const store = storeOf()
  store.reach('9')
  store.reach('5')
  expect([store.reached('9'), store.reached('10')]).toEqual([true, false])
  enter(store, thing('a', 9))
  enter(store, thing('b', 100))
  expect(store.olderThan('20').map(([key]) => key)).toEqual(['a'])
})

test('events in any order, doubled or late, come to the state of the latest', () => {
  const step = record({
    name: constantFrom('a', 'b'),
    isDeleted: boolean(),
    node: constantFrom('n1', 'n2', undefined),
  })
  assert(
    property(array(step, { maxLength: 12 }), infiniteStream(nat()), (steps, random) => {
      const events = steps.map((one, index) => ({ ...one, version: index + 1 }))
      const apply = (store: Store<Thing>, { name, isDeleted, node, version }: (typeof events)[number]) => {
        if (isDeleted) {
          const known = store.get(name)
          if (known === undefined || Number(known.metadata.resourceVersion) <= version)
            store.delete(name, { uid: `uid-${name}` }, String(version))
        } else enter(store, thing(name, version, node))
      }
      const shown = (store: Store<Thing>) =>
        [...store.values()].map(({ metadata, node }) => `${metadata.name} ${metadata.resourceVersion} ${node}`).sort()
      const inOrder = storeOf()
      for (const one of events) apply(inOrder, one)
      const doubled = storeOf()
      for (const one of events) {
        apply(doubled, one)
        const late = events[(random.next().value as number) % events.length]
        if (late !== undefined && late.version <= one.version && !late.isDeleted) apply(doubled, late)
      }
      expect(shown(doubled)).toEqual(shown(inOrder))
    }),
    { numRuns: 200 },
  )
})
