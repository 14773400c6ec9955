import { expect, it } from 'vitest'
import { metadataErrors } from './metadata-errors.ts'
import { pathText } from './values/field-error.ts'

const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }

it.each<[object]>([
  [{ name: 'a' }],
  [{ generateName: 'a-' }],
  [{ name: 'a.b-c', labels: { 'x.y/z': '' }, annotations: { 'X.y/Z': 'any\nthing' }, finalizers: ['a/b'] }],
  [{ name: 'a', labels: { a: null }, annotations: { a: null } }],
  [{ name: 'a', ownerReferences: [owner, { ...owner, controller: true }] }],
  [{ name: 'a', annotations: { a: 'x'.repeat(256 * 1024 - 1) } }],
])('metadata %j is accepted', (metadata) => {
  expect(metadataErrors(metadata)).toEqual([])
})

it.each<[unknown, string]>([
  [undefined, 'metadata'],
  [{}, 'metadata.name'],
  [{ name: '' }, 'metadata.name'],
  [{ name: 'A' }, 'metadata.name'],
  [{ name: 'a..b' }, 'metadata.name'],
  [{ name: 'a'.repeat(254) }, 'metadata.name'],
  [{ generateName: '-a' }, 'metadata.generateName'],
  [{ name: 'a', labels: { 'a b': 'x' } }, 'metadata.labels["a b"]'],
  [{ name: 'a', labels: { a: 'x\n' } }, 'metadata.labels.a'],
  [{ name: 'a', labels: { a: 5 } }, 'metadata.labels.a'],
  [{ name: 'a', annotations: { a: true } }, 'metadata.annotations.a'],
  [{ name: 'a', annotations: { 'a b': '' } }, 'metadata.annotations["a b"]'],
  [{ name: 'a', annotations: { a: 'ö'.repeat(128 * 1024) } }, 'metadata.annotations'],
  [{ name: 'a', finalizers: ['a b'] }, 'metadata.finalizers[0]'],
  [{ name: 'a', ownerReferences: [{ ...owner, uid: '' }] }, 'metadata.ownerReferences[0].uid'],
  [{ name: 'a', ownerReferences: [1, 2].map(() => ({ ...owner, controller: true })) }, 'metadata.ownerReferences'],
])('metadata %j is refused at %s', (metadata, path) => {
  expect(metadataErrors(metadata).map((error) => pathText(error.path))).toEqual([path])
})
