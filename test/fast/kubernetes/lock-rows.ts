import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { data, type Meta, map, mapPath, maps, metaOf, type Row, said, wasChanged } from './played.ts'

/** Creations, optimistic locks and patches. */
export const locks: readonly Row[] = [
  {
    name: 'an object that exists cannot be created again',
    play: async ({ client, name }) => {
      await client.create(maps, map(name))
      return said(client.create(maps, map(name)))
    },
  },
  { name: 'an object that is not there cannot be read', play: ({ client, name }) => said(client.get(mapPath(name))) },
  { name: 'nor patched', play: ({ client, name }) => said(client.mergePatch(mapPath(name), { data: {} })) },
  { name: 'nor deleted', play: ({ client, name }) => said(client.delete(mapPath(name))) },
  {
    name: 'a patch with the version that was read is taken, and one with an older is not',
    play: async ({ client, name }) => {
      const { metadata } = (await client.create(maps, map(name))) as { metadata: Meta }
      const lock = { metadata: { resourceVersion: metadata.resourceVersion } }
      const first = await said(client.mergePatch(mapPath(name), { ...lock, data: { a: '2' } }), data)
      return [first, await said(client.mergePatch(mapPath(name), { ...lock, data: { a: '3' } }))]
    },
  },
  {
    name: 'a patch with the UID of another object is not taken',
    play: async ({ client, name }) => {
      await client.create(maps, map(name))
      return said(client.mergePatch(mapPath(name), { metadata: { uid: 'b-0' }, data: { a: '2' } }))
    },
  },
  {
    name: 'a merge patch takes fields away with null, and adds to maps',
    play: async ({ client, name }) => {
      await client.create(maps, map(name, {}, { a: '1', b: '2' }))
      return said(client.mergePatch(mapPath(name), { data: { a: null, c: '3' } }), data)
    },
  },
  {
    name: 'a patch that changes nothing makes no new version',
    play: async ({ client, name }) => {
      const before = await client.create(maps, map(name))
      return wasChanged(before, await client.mergePatch(mapPath(name), { data: { a: '1' } }))
    },
  },
  {
    name: 'one that changes something does',
    play: async ({ client, name }) => {
      const before = await client.create(maps, map(name))
      return wasChanged(before, await client.mergePatch(mapPath(name), { data: { a: '2' } }))
    },
  },
  {
    name: 'a JSON patch whose test fails is a conflict, and changes nothing',
    play: async ({ client, name }) => {
      await client.create(maps, map(name))
      const refused = await said(
        client.jsonPatch(mapPath(name), [
          { op: 'replace', path: '/data/a', value: '2' },
          { op: 'test', path: '/data/a', value: '1' },
        ]),
      )
      return [refused, await said(client.get(mapPath(name)), data)]
    },
  },
  {
    name: 'a JSON patch tests that a field is absent by null',
    play: async ({ client, name }) => {
      await client.create(maps, map(name))
      return said(
        client.jsonPatch(mapPath(name), [
          { op: 'test', path: '/metadata/annotations', value: null },
          { op: 'add', path: '/metadata/annotations', value: { x: 'y' } },
        ]),
        (object) => (object['metadata'] as Json)['annotations'],
      )
    },
  },
  {
    name: 'a JSON patch that removes what is not there is invalid',
    play: async ({ client, name }) => {
      await client.create(maps, map(name))
      return said(client.jsonPatch(mapPath(name), [{ op: 'remove', path: '/data/zzz' }]))
    },
  },
  {
    name: 'an object without labels and annotations has none of them, not empty maps',
    play: async ({ client, name }) => {
      const made = await client.create(
        maps,
        map(name, { labels: {}, annotations: {}, finalizers: [], ownerReferences: [] }),
      )
      return ['labels', 'annotations', 'finalizers', 'ownerReferences'].filter(
        (key) => key in (made['metadata'] as Json),
      )
    },
  },
  {
    name: 'a created object has a UID, a version and a time',
    play: async ({ client, name }) => {
      const made = (await client.create(maps, map(name)))['metadata'] as Json
      return [typeof made['uid'], typeof made['resourceVersion'], typeof made['creationTimestamp']]
    },
  },
  {
    name: 'two objects of one name have different UIDs, one after the other',
    play: async ({ client, name }) => {
      const first = await client.create(maps, map(name))
      await client.delete(mapPath(name))
      return metaOf(first).uid !== metaOf(await client.create(maps, map(name))).uid
    },
  },
]
