import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { pass } from '../../../test/fakes/time.ts'
import { ApiError } from '../client/api-error.ts'
import { budgetsTopic, type ClusterChange, claimTopic, nodeTopic, type Topic } from './change-feed.ts'
import { ClusterCache } from './cluster-cache.ts'

let logged: string[]
let cache: ClusterCache

beforeEach(() => {
  logged = []
  const log = pino({}, { write: (line) => logged.push(line) })
  cache = new ClusterCache({} as never, log)
})

const node = (name: string, version: number, providerID: unknown) => ({
  metadata: { name, uid: name, resourceVersion: String(version), creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { providerID },
})

test('an object that cannot be indexed is skipped, and what was known of it stays', () => {
  const reported: string[] = []
  cache.onChange(({ key }) => reported.push(key))
  cache.upsert('Node', node('a', 1, 'azure:///A'))
  cache.upsert('Node', node('a', 2, 7))
  cache.upsert('Node', node('b', 3, 'azure:///B'))
  expect(reported).toEqual(['a', 'b'])
  expect(cache.nodes.by('byProviderId', 'azure:///a').map(({ metadata }) => metadata.resourceVersion)).toEqual(['1'])
  expect(cache.nodes.by('byProviderId', 'azure:///b')).toHaveLength(1)
})

test('an object that cannot be read is logged once for each of its versions', () => {
  const pod = (version: number) => ({
    metadata: { ...node('p', version, '').metadata, namespace: 'default' },
    spec: { containers: [{ resources: { requests: { cpu: 'many' } } }] },
  })
  for (const version of [1, 1, 1, 2]) cache.upsert('Pod', pod(version))
  expect(cache.pods.size).toBe(0)
  expect(logged).toHaveLength(2)
  expect(logged[0]).toContain('quantity \\"many\\"')
})

const never = new AbortController().signal
const meta = (name: string, version: number) => ({
  name,
  uid: name,
  resourceVersion: String(version),
  creationTimestamp: '2026-01-01T00:00:00Z',
})
const pod = (name: string, version: number, nodeName?: string) => ({
  metadata: { ...meta(name, version), namespace: 'default' },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
})
const claim = (name: string, version: number, providerID: string) => ({
  metadata: meta(name, version),
  spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' } },
  status: { providerID },
})

describe('a wait for topics is woken', () => {
  /** Returns the changes, by kind and key, that a wait for these topics hears of. */
  function heardBy(topics: readonly Topic[]): string[] {
    const heard: string[] = []
    const ended = new AbortController()
    const told = (change: ClusterChange) => void heard.push(`${change.kind} ${change.key}`)
    void cache.changeOf(topics, { ms: 1e6, concerns: (change) => told(change) as never }, ended.signal).catch(() => {})
    onTestFinished(() => ended.abort())
    return heard
  }

  test('of a NodeClaim by the claim, and by the Node with its provider id', () => {
    cache.upsert('NodeClaim', claim('a', 1, 'azure:///A'))
    const heard = heardBy([claimTopic('a')])
    cache.upsert('NodeClaim', claim('a', 2, 'azure:///A'))
    cache.upsert('NodeClaim', claim('b', 3, 'azure:///B'))
    cache.upsert('Node', node('vm-a', 4, 'AZURE:///a'))
    cache.upsert('Node', node('vm-b', 5, 'azure:///B'))
    expect(heard).toEqual(['NodeClaim a', 'Node vm-a'])
  })

  test('of a Node by the Node, its pods and its volumes', () => {
    const heard = heardBy([nodeTopic('n')])
    cache.upsert('Node', node('n', 1, 'azure:///N'))
    cache.upsert('Pod', pod('on-it', 2, 'n'))
    cache.upsert('Pod', pod('elsewhere', 3, 'm'))
    cache.upsert('Pod', pod('pending', 4))
    cache.upsert('Pod', pod('pending', 5, 'n'))
    cache.upsert('VolumeAttachment', { metadata: meta('v', 6), spec: { nodeName: 'n', source: {} } })
    expect(heard).toEqual(['Node n', 'Pod default/on-it', 'Pod default/pending', 'VolumeAttachment v'])
  })

  test('of a Node by a pod of it that another pod of the same name elsewhere takes the place of', () => {
    cache.upsert('Pod', pod('web-0', 1, 'n'))
    const heard = heardBy([nodeTopic('n')])
    const other = pod('web-0', 2, 'm')
    cache.upsert('Pod', { ...other, metadata: { ...other.metadata, uid: 'another' } })
    expect(heard).toEqual(['Pod default/web-0'])
  })

  test('of the budgets of a namespace by these', () => {
    const heard = heardBy([budgetsTopic('shop')])
    for (const [at, namespace] of ['shop', 'bank'].entries())
      cache.upsert('PodDisruptionBudget', { metadata: { ...meta('b', at + 1), namespace }, spec: {} })
    expect(heard).toEqual(['PodDisruptionBudget shop/b'])
  })

  test('no more once it has ended', async () => {
    const ended = new AbortController()
    const calls: number[] = []
    const wait = cache.waitFor([claimTopic('a')], () => void calls.push(1), ended.signal)
    ended.abort()
    await expect(wait).rejects.toThrow()
    cache.upsert('NodeClaim', claim('a', 1, 'azure:///A'))
    expect(calls).toHaveLength(1)
  })
})

describe('pods without a node are caught up with', () => {
  /** The API server's pods, beside what the cache has. */
  function catchUpWith(listed: readonly object[], live: Readonly<Record<string, object>>) {
    const asked: string[] = []
    const client = {
      async *listPages(_: string, { fieldSelector }: { fieldSelector: string }) {
        asked.push(fieldSelector)
        yield { items: listed, resourceVersion: '100' }
      },
      get: async (path: string) => {
        asked.push(path)
        const found = live[path.split('/').at(-1) ?? '']
        if (found === undefined) throw new ApiError(404, 'NotFound', path)
        return found
      },
    }
    cache = new ClusterCache(client as never, pino({ level: 'silent' }))
    return asked
  }
  const known = () => [...cache.pods.values()].map(({ metadata, nodeName }) => `${metadata.name} ${nodeName ?? '-'}`)

  test('new ones enter, bound ones move, and deleted ones leave', async () => {
    const asked = catchUpWith([pod('new', 90), pod('waits', 1)], { bound: pod('bound', 95, 'n') })
    for (const name of ['waits', 'bound', 'gone']) cache.upsert('Pod', pod(name, 1))
    cache.upsert('Pod', pod('old', 1, 'm'))
    await cache.catchUpUnboundPods(never)
    expect(known().sort()).toEqual(['bound n', 'new -', 'old m', 'waits -'])
    expect(asked).toEqual([
      'spec.nodeName=',
      '/api/v1/namespaces/default/pods/bound',
      '/api/v1/namespaces/default/pods/gone',
    ])
  })

  test('one that came after the list stays', async () => {
    const asked = catchUpWith([], {})
    cache.upsert('Pod', pod('later', 101))
    await cache.catchUpUnboundPods(never)
    expect(known()).toEqual(['later -'])
    expect(asked).toHaveLength(1)
  })
})

describe('decisions wait for interrupted watches', () => {
  /** A cache of which each watch opens when it is let, and fails before. */
  function interrupted() {
    let isUp = false
    const client = {
      async *listPages() {
        yield { items: [], resourceVersion: '1' }
      },
      async *watch(_: string, { signal, onOpen }: { signal: AbortSignal; onOpen: () => void }) {
        if (!isUp) throw new Error('connection refused')
        onOpen()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        yield* []
      },
    }
    cache = new ClusterCache(client as never, pino({ level: 'silent' }), { roles: ['azure'] })
    cache.start()
    onTestFinished(() => cache.stop())
    return () => {
      isUp = true
    }
  }

  test('until each of them is connected again', async () => {
    const open = interrupted()
    await cache.synced()
    await new Promise((resolve) => setTimeout(resolve, 20))
    let isOver = false
    const waiting = cache.connected(never).then(() => {
      isOver = true
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(isOver).toBe(false)
    open()
    await waiting
  })

  test('no longer than they are wanted, also where they were given up before', async () => {
    interrupted()
    await cache.synced()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const given = new AbortController()
    const waiting = cache.connected(given.signal)
    given.abort(new Error('given up'))
    await expect(waiting).rejects.toThrow('given up')
    await expect(cache.connected(given.signal)).rejects.toThrow('given up')
  })
})

test('waits end while the API server tells nothing for half a minute, and steps are refused', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let isCutOff = false
  const breaks: ((error: Error) => void)[] = []
  const client = {
    listPages: async function* () {
      if (isCutOff) throw new Error('ETIMEDOUT')
      yield { items: [], resourceVersion: '1' }
    },
    watch: async function* (_path: string, { onOpen }: { readonly onOpen: () => void }) {
      if (isCutOff) throw new Error('ETIMEDOUT')
      onOpen()
      await new Promise((_, reject) => breaks.push(reject))
      yield* []
    },
  }
  const watching = new ClusterCache(client as never, pino({ level: 'silent' }), { roles: ['azure'] })
  watching.start()
  onTestFinished(() => watching.stop())
  await pass(0)
  const { signal } = new AbortController()
  let outcome = 'waits'
  const waiting = () =>
    watching
      .waitFor([claimTopic('a')], () => undefined, signal)
      .catch((error: Error) => {
        outcome = error.message
      })
  void waiting()
  isCutOff = true
  for (const end of breaks.splice(0)) end(new Error('ETIMEDOUT'))
  await pass(29_000)
  expect(outcome).toBe('waits')
  watching.throwIfUntold()
  await pass(2000)
  expect(outcome).toContain('the API server has told this process nothing for 30 s')
  expect(() => watching.throwIfUntold()).toThrow('nothing for 30 s')
  // What is there already needs no wait.
  expect(await watching.waitFor([claimTopic('a')], () => 'there', signal)).toBe('there')
  isCutOff = false
  await pass(20_000)
  watching.throwIfUntold()
  outcome = 'waits'
  void waiting()
  await pass(0)
  expect(outcome).toBe('waits')
})
