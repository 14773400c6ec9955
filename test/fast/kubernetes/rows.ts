import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { apiRows } from './api-rows.ts'
import { controllerRows } from './controller-rows.ts'
import { locks } from './lock-rows.ts'
import { objectRows } from './object-rows.ts'
import {
  claim,
  claimPath,
  data,
  exists,
  map,
  mapPath,
  maps,
  metaOf,
  namespace,
  node,
  nodePath,
  pod,
  podPath,
  type Row,
  said,
} from './played.ts'

const status: readonly Row[] = [
  {
    name: 'the status of a NodeClaim is not created with it',
    play: async ({ client, name }) =>
      said(
        client.create(resourcePath('nodeclaims'), { ...claim(name), status: { nodeName: 'n' } }),
        (made) => made['status'] ?? null,
      ),
  },
  {
    name: 'a patch of a NodeClaim leaves its status alone',
    play: async ({ client, name }) => {
      await client.create(resourcePath('nodeclaims'), claim(name))
      return said(
        client.mergePatch(claimPath(name), { metadata: { annotations: { a: '1' } }, status: { nodeName: 'n' } }),
        (made) => [(made['metadata'] as Json)['annotations'], made['status'] ?? null],
      )
    },
  },
  {
    name: 'a patch of its status leaves annotations alone',
    play: async ({ client, name }) => {
      await client.create(resourcePath('nodeclaims'), claim(name))
      return said(
        client.patchStatus(claimPath(name), { metadata: { annotations: { a: '1' } }, status: { nodeName: 'n' } }),
        (made) => [(made['metadata'] as Json)['annotations'] ?? null, (made['status'] as Json)['nodeName']],
      )
    },
  },
  {
    name: 'a patch of the status takes the lock as well',
    play: async ({ client, name }) => {
      const made = await client.create(resourcePath('nodeclaims'), claim(name))
      await client.patchStatus(claimPath(name), { status: { nodeName: 'n' } })
      const lock = { metadata: { resourceVersion: metaOf(made).resourceVersion } }
      return said(client.patchStatus(claimPath(name), { ...lock, status: { nodeName: 'm' } }))
    },
  },
  {
    name: 'a change of the status is no new generation',
    play: async ({ client, name }) => {
      const made = await client.create(resourcePath('nodeclaims'), claim(name))
      const after = await client.patchStatus(claimPath(name), { status: { nodeName: 'n' } })
      return [(made['metadata'] as Json)['generation'], (after['metadata'] as Json)['generation']]
    },
  },
]

const deletion: readonly Row[] = [
  {
    name: 'an object without finalizers is gone at once',
    play: async ({ client, name }) => {
      await client.create(maps, map(name))
      await client.delete(mapPath(name))
      return said(client.get(mapPath(name)))
    },
  },
  {
    name: 'one with a finalizer stays, with the time of its deletion',
    play: async ({ client, name }) => {
      await client.create(maps, map(name, { finalizers: ['example.com/a'] }))
      await client.delete(mapPath(name))
      return said(client.get(mapPath(name)), (object) => [
        typeof metaOf(object).deletionTimestamp,
        metaOf(object).finalizers,
      ])
    },
  },
  {
    name: 'and goes with its last finalizer',
    play: async ({ client, name }) => {
      await client.create(maps, map(name, { finalizers: ['example.com/a', 'example.com/b'] }))
      await client.delete(mapPath(name))
      await client.mergePatch(mapPath(name), { metadata: { finalizers: ['example.com/b'] } })
      const between = await exists(client, mapPath(name))
      await client.mergePatch(mapPath(name), { metadata: { finalizers: null } })
      return [between, await exists(client, mapPath(name))]
    },
  },
  {
    name: 'no finalizer is added to an object that is being deleted',
    play: async ({ client, name }) => {
      await client.create(maps, map(name, { finalizers: ['example.com/a'] }))
      await client.delete(mapPath(name))
      return said(client.mergePatch(mapPath(name), { metadata: { finalizers: ['example.com/a', 'example.com/b'] } }))
    },
  },
  {
    name: 'a second deletion changes nothing',
    play: async ({ client, name }) => {
      await client.create(maps, map(name, { finalizers: ['example.com/a'] }))
      await client.delete(mapPath(name))
      const first = await client.get(mapPath(name))
      await client.delete(mapPath(name))
      return metaOf(first).deletionTimestamp === metaOf(await client.get(mapPath(name))).deletionTimestamp
    },
  },
  {
    name: 'a deletion of the object with another UID is a conflict',
    play: async ({ client, name }) => {
      await client.create(maps, map(name))
      return [await said(client.delete(mapPath(name), { uid: 'other' })), await exists(client, mapPath(name))]
    },
  },
  {
    name: 'a deletion at another version is a conflict',
    play: async ({ client, name }) => {
      const { resourceVersion } = metaOf(await client.create(maps, map(name)))
      await client.mergePatch(mapPath(name), { data: { a: '2' } })
      return [await said(client.delete(mapPath(name), { resourceVersion })), await exists(client, mapPath(name))]
    },
  },
  {
    name: 'an object that is being deleted cannot be created again',
    play: async ({ client, name }) => {
      await client.create(maps, map(name, { finalizers: ['example.com/a'] }))
      await client.delete(mapPath(name))
      return said(client.create(maps, map(name)))
    },
  },
  {
    name: 'an object that is being deleted can be changed',
    play: async ({ client, name }) => {
      await client.create(maps, map(name, { finalizers: ['example.com/a'] }))
      await client.delete(mapPath(name))
      return said(client.mergePatch(mapPath(name), { data: { a: '2' } }), data)
    },
  },
]

const pods: readonly Row[] = [
  {
    name: 'a pod on no node is gone at once, whatever its grace period',
    play: async ({ client, name }) => {
      await client.create(resourcePath('pods', undefined, namespace), pod(name))
      await client.delete(podPath(name))
      return exists(client, podPath(name))
    },
  },
  {
    name: 'a pod on a node has its grace period',
    play: async ({ client, name }) => {
      await client.create(resourcePath('pods', undefined, namespace), pod(name, { nodeName: 'no-such-node' }))
      await client.delete(podPath(name))
      return said(client.get(podPath(name)), (object) => (object['metadata'] as Json)['deletionGracePeriodSeconds'])
    },
  },
  {
    name: 'a shorter grace period replaces a longer one',
    play: async ({ client, name }) => {
      await client.create(resourcePath('pods', undefined, namespace), pod(name, { nodeName: 'no-such-node' }))
      await client.delete(podPath(name))
      await client.delete(podPath(name), { gracePeriodSeconds: 5 })
      return said(client.get(podPath(name)), (object) => (object['metadata'] as Json)['deletionGracePeriodSeconds'])
    },
  },
  {
    name: 'a grace period of 0 ends a pod on a node at once',
    play: async ({ client, name }) => {
      await client.create(resourcePath('pods', undefined, namespace), pod(name, { nodeName: 'no-such-node' }))
      await client.delete(podPath(name), { gracePeriodSeconds: 0 })
      return exists(client, podPath(name))
    },
  },
  {
    name: 'a pod without a budget is evicted',
    play: async ({ client, name }) => {
      const made = await client.create(
        resourcePath('pods', undefined, namespace),
        pod(name, { nodeName: 'no-such-node' }),
      )
      await client.evict(namespace, name, metaOf(made).uid)
      return said(client.get(podPath(name)), (object) => typeof metaOf(object).deletionTimestamp)
    },
  },
  {
    name: 'an eviction of no pod is not found',
    play: ({ client, name }) => said(client.evict(namespace, name, 'other')),
  },
  {
    name: 'a pod that has not started is evicted against its budget',
    play: async ({ client, name }) => {
      const own = { labels: { app: name }, nodeName: 'no-such-node' }
      const made = await client.create(resourcePath('pods', undefined, namespace), pod(name, own))
      await client.create(resourcePath('poddisruptionbudgets', undefined, namespace), {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name, namespace },
        spec: { maxUnavailable: 0, selector: { matchLabels: { app: name } } },
      })
      await client.patchStatus(podPath(name), { status: { phase: 'Pending' } })
      return said(client.evict(namespace, name, metaOf(made).uid))
    },
  },
  {
    name: 'a budget that allows no disruption holds an eviction',
    play: async ({ client, name, until }) => {
      const own = { labels: { app: name }, nodeName: 'no-such-node' }
      const made = await client.create(resourcePath('pods', undefined, namespace), pod(name, own))
      await client.create(resourcePath('poddisruptionbudgets', undefined, namespace), {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name, namespace },
        spec: { maxUnavailable: 0, selector: { matchLabels: { app: name } } },
      })
      const isJudged = (budget: Json) => (budget['status'] as Json | undefined)?.['observedGeneration'] === 1
      const budget = resourcePath('poddisruptionbudgets', name, namespace)
      await client.patchStatus(budget, { status: { disruptionsAllowed: 0, observedGeneration: 1 } })
      await until(async () => (await said(client.get(budget), isJudged)) === true)
      await client.patchStatus(podPath(name), { status: { phase: 'Running' } })
      return said(client.evict(namespace, name, metaOf(made).uid))
    },
  },
]

const owners: readonly Row[] = [
  {
    name: 'an object goes with its owner',
    play: async ({ client, name, until }) => {
      const owner = await client.create(maps, map(name))
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid: metaOf(owner).uid }]
      await client.create(maps, map(`${name}-owned`, { ownerReferences }))
      await client.delete(mapPath(name))
      await until(async () => !(await exists(client, mapPath(`${name}-owned`))))
      return 'gone'
    },
  },
  {
    name: 'a Node with a finalizer stays when its NodeClaim goes, and is being deleted',
    play: async ({ client, name, until }) => {
      const owner = await client.create(resourcePath('nodeclaims'), claim(name))
      const ownerReferences = [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, uid: metaOf(owner).uid }]
      await client.create(
        resourcePath('nodes'),
        node(name, { ownerReferences, finalizers: ['karpenter.sh/termination'] }),
      )
      await client.delete(claimPath(name))
      const isDeleting = (object: Json) => metaOf(object).deletionTimestamp !== undefined
      await until(async () => (await said(client.get(nodePath(name)), isDeleting)) === true)
      await client.mergePatch(nodePath(name), { metadata: { finalizers: null } })
      return exists(client, nodePath(name))
    },
  },
  {
    name: 'an object stays while one of two owners is there',
    play: async ({ client, name, until }) => {
      const [first, second] = [await client.create(maps, map(`${name}-1`)), await client.create(maps, map(`${name}-2`))]
      const ownerReferences = [first, second].map((owner, at) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: `${name}-${at + 1}`,
        uid: metaOf(owner).uid,
      }))
      await client.create(maps, map(name, { ownerReferences }))
      await client.delete(mapPath(`${name}-1`))
      await client.create(maps, map(`${name}-3`, { ownerReferences: ownerReferences.slice(0, 1) }))
      await until(async () => !(await exists(client, mapPath(`${name}-3`))))
      return exists(client, mapPath(name))
    },
  },
]

const lists: readonly Row[] = [
  {
    name: 'a list has what a field selector selects',
    play: async ({ client, name }) => {
      for (const each of [name, `${name}-other`]) await client.create(maps, map(each))
      const { items } = await client.list(maps, { fieldSelector: `metadata.name=${name}` })
      return items.map((item) => (item['metadata'] as Json)['name'] === name)
    },
  },
  {
    name: 'pages of a list hold each object once',
    play: async ({ client, name }) => {
      for (let at = 0; at < 3; at++) await client.create(maps, map(`${name}-${at}`))
      const found: string[] = []
      for await (const { items } of client.listPages(maps))
        found.push(
          ...items.map((item) => String((item['metadata'] as Json)['name'])).filter((one) => one.startsWith(name)),
        )
      return found.length
    },
  },
  {
    name: 'a watch shows changes after the list, and the end',
    play: async ({ client, name }) => {
      const { resourceVersion } = await client.list(maps, { fieldSelector: `metadata.name=${name}` })
      const end = new AbortController()
      const seen: string[] = []
      const path = `${maps}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`
      const watching = (async () => {
        for await (const { type } of client.watch(path, { resourceVersion, signal: end.signal, idleMs: 60_000 })) {
          if (type !== 'BOOKMARK') seen.push(type)
          if (type === 'DELETED') break
        }
      })()
      // A watch of the cluster in memory begins with its first request for an event.
      await Promise.resolve()
      await client.create(maps, map(name))
      await client.mergePatch(mapPath(name), { data: { a: '2' } })
      await client.delete(mapPath(name))
      await watching
      end.abort()
      return seen
    },
  },
]

/** What Joiner relies on at the API server and its controllers, a row each: the cluster in memory and a real one must answer the same. */
export const rows: readonly Row[] = [
  ...locks,
  ...status,
  ...deletion,
  ...pods,
  ...owners,
  ...lists,
  ...apiRows,
  ...objectRows,
  ...controllerRows,
]
