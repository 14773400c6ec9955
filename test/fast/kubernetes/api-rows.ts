import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import {
  claim,
  containersOf,
  data,
  deployment,
  map,
  mapPath,
  maps,
  metaOf,
  namesOf,
  namespace,
  node,
  nodePath,
  type Played,
  pod,
  pods,
  pools,
  type Row,
  said,
} from './played.ts'

/** What a watch from a version shows, until this many events have come. */
async function watched({ client }: Played, path: string, options: { resourceVersion: string; count: number }) {
  const end = new AbortController()
  const seen: string[] = []
  const watching = client.watch(path, { resourceVersion: options.resourceVersion, signal: end.signal, idleMs: 60_000 })
  for await (const { type } of watching) {
    if (type !== 'BOOKMARK') seen.push(type)
    if (seen.length === options.count) break
  }
  end.abort()
  return seen
}

const watches: readonly Row[] = [
  {
    name: 'a watch from a version shows what came since, once',
    play: async (played) => {
      const { client, name } = played
      const { metadata } = (await client.create(maps, map(name))) as { metadata: { resourceVersion: string } }
      await client.mergePatch(mapPath(name), { data: { a: '2' } })
      await client.delete(mapPath(name))
      const path = `${maps}?fieldSelector=metadata.name=${name}`
      return watched(played, path, { resourceVersion: metadata.resourceVersion, count: 2 })
    },
  },
  {
    name: 'a watch from a version that is long gone is refused',
    play: (played) => said(watched(played, pools, { resourceVersion: '1', count: 1 }).then((seen) => ({ seen }))),
  },
  {
    name: 'for a watch of a selector, an object that is not selected any more is gone, and one that begins to be is new',
    play: async (played) => {
      const { client, name } = played
      const made = await client.create(maps, map(name, { labels: { row: name } }))
      for (const row of ['other', name]) await client.mergePatch(mapPath(name), { metadata: { labels: { row } } })
      await client.mergePatch(mapPath(name), { data: { a: '2' } })
      return watched(played, `${maps}?labelSelector=row=${name}`, {
        resourceVersion: metaOf(made).resourceVersion,
        count: 3,
      })
    },
  },
  {
    name: 'a watch over all namespaces shows objects of each',
    play: async (played) => {
      const { client, name } = played
      const made = await client.create(maps, map(name))
      await client.mergePatch(mapPath(name), { data: { a: '2' } })
      const path = `${resourcePath('configmaps')}?fieldSelector=metadata.name=${name}`
      return watched(played, path, { resourceVersion: metaOf(made).resourceVersion, count: 1 })
    },
  },
]

const selectors = ['tier=a', 'tier!=a', 'tier in (a,b)', 'tier notin (a)', 'tier', '!tier', 'tier=b,side=left']

const lists: readonly Row[] = [
  {
    name: 'label selectors select the same objects',
    play: async ({ client, request, name }) => {
      const labels = [{ tier: 'a' }, { tier: 'b', side: 'left' }, { side: 'left' }]
      for (const [at, own] of labels.entries())
        await client.create(maps, map(`${name}-${at}`, { labels: { row: name, ...own } }))
      const list = async (selector: string) =>
        namesOf(await request('GET', `${maps}?labelSelector=${encodeURIComponent(`row=${name},${selector}`)}`)).map(
          (one) => one.slice(name.length),
        )
      return Promise.all(selectors.map(list))
    },
  },
  {
    name: 'field selectors select by what is not there, and by what is not so',
    play: async ({ client, request, name }) => {
      await client.create(pods, pod(`${name}-a`, { labels: { row: name }, nodeName: 'no-such-node' }))
      await client.create(pods, pod(`${name}-b`, { labels: { row: name } }))
      const list = async (selector: string) =>
        namesOf(
          await request('GET', `${pods}?labelSelector=row=${name}&fieldSelector=${encodeURIComponent(selector)}`),
        ).map((one) => one.slice(name.length))
      return Promise.all(
        [
          'spec.nodeName=',
          'spec.nodeName!=',
          `metadata.name!=${name}-a`,
          'status.phase=Pending',
          `metadata.name!=${name}-a,spec.nodeName=`,
        ].map(list),
      )
    },
  },
  {
    name: 'a page has as many objects as were asked for, by name, and the next one begins after it',
    play: async ({ client, request, name }) => {
      for (const at of [2, 0, 1]) await client.create(maps, map(`${name}-${at}`, { labels: { row: name } }))
      const first = await request('GET', `${maps}?labelSelector=row=${name}&limit=2`)
      const next = encodeURIComponent(String((first['metadata'] as Json)['continue']))
      const second = await request('GET', `${maps}?labelSelector=row=${name}&limit=2&continue=${next}`)
      return [first, second].map((page) => [
        namesOf(page).map((one) => one.slice(name.length)),
        'continue' in (page['metadata'] as Json),
      ])
    },
  },
  {
    name: 'a deletion of a list deletes what is selected',
    play: async ({ client, request, name }) => {
      for (const at of [0, 1, 2])
        await client.create(maps, map(`${name}-${at}`, { labels: { row: name, odd: String(at % 2) } }))
      await request('DELETE', `${maps}?labelSelector=row=${name},odd=0`)
      return namesOf(await request('GET', `${maps}?labelSelector=row=${name}`)).map((one) => one.slice(name.length))
    },
  },
]

const applied = (name: string, manager: string, force = false) =>
  `${mapPath(name)}?fieldManager=${manager}&force=${force}`

const applying: readonly Row[] = [
  {
    name: 'what is applied is created',
    play: async ({ request, name }) => said(request('PATCH', applied(name, 'a'), map(name), 'apply'), data),
  },
  {
    name: 'what is applied no more goes, and what others wrote stays',
    play: async ({ client, request, name }) => {
      await request('PATCH', applied(name, 'a'), map(name, { labels: { x: '1' } }, { a: '1', b: '2' }), 'apply')
      await client.mergePatch(mapPath(name), { data: { c: '3' }, metadata: { labels: { y: '2' } } })
      return said(request('PATCH', applied(name, 'a'), map(name, {}, { a: '1' }), 'apply'), (object) => [
        object['data'],
        (object['metadata'] as Json)['labels'] ?? null,
      ])
    },
  },
  {
    name: 'what another has applied is not overruled but by force',
    play: async ({ request, name }) => {
      await request('PATCH', applied(name, 'a'), map(name), 'apply')
      const refused = await said(request('PATCH', applied(name, 'b'), map(name, {}, { a: '2' }), 'apply'))
      const forced = await said(request('PATCH', applied(name, 'b', true), map(name, {}, { a: '2' }), 'apply'), data)
      const same = await said(request('PATCH', applied(name, 'a'), map(name, {}, { a: '2' }), 'apply'), data)
      return [refused, forced, same]
    },
  },
  {
    name: 'what is applied again as it is makes no new version',
    play: async ({ request, name }) => {
      const first = await request('PATCH', applied(name, 'a'), map(name), 'apply')
      const second = await request('PATCH', applied(name, 'a'), map(name), 'apply')
      return metaOf(first).resourceVersion === metaOf(second).resourceVersion
    },
  },
  {
    name: 'an applied container keeps its defaults, and loses what is not applied any more',
    play: async ({ request, name }) => {
      const path = resourcePath('deployments', name, namespace)
      const of = (resources: Json) =>
        deployment(name, { template: { containers: [{ name: 'c', image: 'i', resources }] } })
      await request('PATCH', `${path}?fieldManager=a&force=true`, of({ limits: { cpu: '1' } }), 'apply')
      const after = await request('PATCH', `${path}?fieldManager=a&force=true`, of({ requests: { cpu: '2' } }), 'apply')
      return containersOf(after).map((one) => one['resources'])
    },
  },
]

const condition = (type: string, status: string) => ({ type, status, reason: 'Row', message: '' })
const conditionsOf = (object: Json) =>
  (object['status'] as { conditions: readonly Json[] }).conditions.map(
    ({ type, status }) => `${String(type)} ${String(status)}`,
  )

const patches: readonly Row[] = [
  {
    name: 'a strategic merge patch of conditions changes those of the same type, and adds others',
    play: async ({ client, request, name }) => {
      const path = `${nodePath(name)}/status`
      await client.create(resourcePath('nodes'), node(name))
      const patch = (...conditions: readonly Json[]) =>
        request('PATCH', path, { status: { conditions } }, 'strategic-merge')
      await patch(condition('A', 'True'), condition('B', 'True'))
      return conditionsOf(await patch(condition('B', 'False'), condition('C', 'True'))).sort()
    },
  },
  {
    name: 'a merge patch of conditions replaces all',
    play: async ({ client, request, name }) => {
      const path = `${nodePath(name)}/status`
      await client.create(resourcePath('nodes'), node(name))
      await request('PATCH', path, { status: { conditions: [condition('A', 'True')] } })
      return conditionsOf(await request('PATCH', path, { status: { conditions: [condition('B', 'True')] } }))
    },
  },
  {
    name: 'a JSON patch adds to a list, and takes from it',
    play: async ({ client, request, name }) => {
      await client.create(maps, map(name, { finalizers: ['example.com/a', 'example.com/b'] }))
      const patch = [
        { op: 'add', path: '/metadata/finalizers/-', value: 'example.com/c' },
        { op: 'add', path: '/metadata/finalizers/0', value: 'example.com/d' },
        { op: 'remove', path: '/metadata/finalizers/1' },
      ]
      return said(request('PATCH', mapPath(name), patch, 'json'), (object) => metaOf(object).finalizers)
    },
  },
  {
    name: 'an update replaces what was there, and takes the lock',
    play: async ({ client, request, name }) => {
      const before = await client.create(maps, map(name, { labels: { x: '1' } }))
      const lock = { resourceVersion: metaOf(before).resourceVersion }
      const after = await request('PUT', mapPath(name), map(name, lock, { b: '1' }))
      return [
        after['data'],
        (after['metadata'] as Json)['labels'] ?? null,
        await said(request('PUT', mapPath(name), map(name, lock))),
      ]
    },
  },
  {
    name: 'an update of the status leaves the rest alone',
    play: async ({ client, request, name }) => {
      const made = await client.create(resourcePath('nodeclaims'), claim(name))
      const path = `${resourcePath('nodeclaims', name)}/status`
      const body = {
        ...made,
        metadata: { ...(made['metadata'] as Json), labels: { a: 'b' } },
        status: { nodeName: 'n' },
      }
      const after = await request('PUT', path, body)
      return [(after['metadata'] as Json)['labels'] ?? null, after['status']]
    },
  },
  {
    name: 'a name is generated from its beginning',
    play: async ({ request, name }) => {
      const made = await request('POST', maps, { ...map(name), metadata: { generateName: `${name}-` } })
      const own = String((made['metadata'] as Json)['name'])
      return [own.startsWith(`${name}-`), own.length - name.length]
    },
  },
  {
    name: 'replicas are read and written by themselves',
    play: async ({ client, request, name }) => {
      await client.create(resourcePath('deployments', undefined, namespace), deployment(name))
      const path = resourcePath('deployments', name, namespace)
      const scale = async () => (await request('GET', `${path}/scale`))['spec']
      const before = await scale()
      await request('PATCH', `${path}/scale`, { spec: { replicas: 2 } })
      const { spec, metadata } = await client.get(path)
      return [before, await scale(), (spec as Json)['replicas'], (metadata as Json)['generation']]
    },
  },
]

/** What requests as they travel rely on at the API server. */
export const apiRows: readonly Row[] = [...watches, ...lists, ...applying, ...patches]
