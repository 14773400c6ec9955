import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { written } from '../../../test/patch-body.ts'
import { guardedPatch } from './json-patch.ts'

const metadata = { uid: 'u', labels: { a: '1' }, finalizers: ['x'] }

test('guards the object and the lists that it changes, and nothing else', () => {
  const patch = { metadata: { labels: { 'b/c~d': '2', a: null, gone: null }, finalizers: [] }, spec: { taints: ['t'] } }
  expect(guardedPatch(patch, { metadata, spec: { taints: [] } })).toEqual([
    { op: 'test', path: '/metadata/uid', value: 'u' },
    { op: 'test', path: '/metadata/deletionTimestamp', value: null },
    { op: 'add', path: '/metadata/labels/b~1c~0d', value: '2' },
    { op: 'remove', path: '/metadata/labels/a' },
    { op: 'test', path: '/metadata/labels/gone', value: null },
    { op: 'test', path: '/metadata/finalizers', value: ['x'] },
    { op: 'remove', path: '/metadata/finalizers' },
    { op: 'test', path: '/spec/taints', value: null },
    { op: 'add', path: '/spec/taints', value: ['t'] },
  ])
})

test('leaves a list alone that is to stay, and one that is being deleted is not guarded against that', () => {
  const before = { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
  expect(guardedPatch({ metadata: { finalizers: ['x'] } }, before)).toEqual([
    { op: 'test', path: '/metadata/uid', value: 'u' },
  ])
})

test('has the effect of its merge patch', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '/', '~', '1', '0'), minLength: 1, maxLength: 6 })
  const list = fc.array(text, { maxLength: 3 })
  const object = fc.record({
    metadata: fc.record({ labels: fc.dictionary(text, text, { noNullPrototype: true }), finalizers: list }),
    spec: fc.record({ taints: list }),
  })
  fc.assert(
    fc.property(object, object, (patch, before) => {
      const operations = guardedPatch(patch, { ...before, metadata: { uid: 'u', ...before.metadata } })
      const said = written(JSON.stringify(operations)) as { metadata?: typeof patch.metadata; spec?: typeof patch.spec }
      expect(said.metadata?.labels ?? {}).toEqual(patch.metadata.labels)
      expect(said.metadata?.finalizers ?? before.metadata.finalizers).toEqual(patch.metadata.finalizers)
      expect(said.spec?.taints ?? before.spec.taints).toEqual(patch.spec.taints)
    }),
  )
})

test('adds and removes keys that every object inherits something under', () => {
  const patch = { metadata: { labels: { constructor: 'x', toString: null } } }
  expect(guardedPatch(patch, { metadata: { uid: 'u', labels: { app: 'a' } } } as never).slice(2)).toEqual([
    { op: 'add', path: '/metadata/labels/constructor', value: 'x' },
    { op: 'test', path: '/metadata/labels/toString', value: null },
  ])
})
