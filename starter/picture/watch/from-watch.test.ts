import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import type { Json, WatchEvent } from '../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { formatWaitingClass, formatWaitingSummary, summaryKey } from '../../../api/waiting-pods.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import { gapLines, missingLines } from '../gaps.ts'
import { type ClusterChange } from './cluster-view.ts'
import { ClusterWatch } from './from-watch.ts'

useFakeTime()

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

const resourceOf = (path: string) => /\/([a-z]+)(\?|$)/.exec(path)?.[1] ?? path

/** An API server of which a test decides what it lists, what it refuses, and when a watch breaks. */
class FakeServer {
  readonly lists = new Map<string, Json[]>()
  readonly failures = new Map<string, Error>()
  /** Single objects by path. */
  readonly objects = new Map<string, Json>()
  readonly #watches = new Map<string, (event: WatchEvent | Error) => void>()
  version = 10

  readonly client = {
    listPages: (path: string) => this.#list(path),
    watch: (path: string, options: { signal: AbortSignal; onOpen?: () => void }) => this.#watch(path, options),
    get: async (path: string) => {
      const found = this.objects.get(path)
      if (found !== undefined) return found
      throw this.failures.get(path) ?? new ApiError(404, 'NotFound', `${path}: not found`)
    },
  } as unknown as KubernetesClient

  send(resource: string, type: WatchEvent['type'], object: Json): void {
    this.version += 1
    const metadata = { ...(object['metadata'] as Json), resourceVersion: String(this.version) }
    this.#watches.get(resource)?.({ type, object: { ...object, metadata }, size: 1 })
  }

  breakWatch(resource: string, error: Error): void {
    this.#watches.get(resource)?.(error)
  }

  async *#list(path: string) {
    const failure = this.failures.get(resourceOf(path))
    if (failure !== undefined) throw failure
    yield { items: this.lists.get(resourceOf(path)) ?? [], resourceVersion: String(this.version) }
  }

  async *#watch(path: string, { signal, onOpen }: { signal: AbortSignal; onOpen?: () => void }) {
    const failure = this.failures.get(resourceOf(path))
    if (failure !== undefined) throw failure
    onOpen?.()
    for (;;) {
      const event = await new Promise<WatchEvent | Error | undefined>((resolve) => {
        this.#watches.set(resourceOf(path), resolve)
        signal.addEventListener('abort', () => resolve(undefined), { once: true })
      })
      if (event === undefined) return
      if (event instanceof Error) throw event
      yield event
    }
  }
}

const node = (name: string): Json => ({
  metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {},
  status: { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
})

const forbidden = (what: string) => new ApiError(403, 'Forbidden', `${what} is forbidden`)

const ofNodes = (watch: ClusterWatch) => missingLines(watch.view().missing.filter(({ what }) => what === 'nodes'))

async function watching(server: FakeServer) {
  const watch = await ClusterWatch.start({ client: server.client, namespace: 'joiner' })
  stops.push(() => watch.close())
  const changes: ClusterChange[] = []
  watch.onChange((change) => changes.push(change))
  return { watch, changes }
}

test('what may not be read is named, and the rest is there', async () => {
  const server = new FakeServer()
  server.lists.set('nodes', [node('a')])
  server.failures.set('pods', forbidden('pods'))
  server.failures.set('nodeclaims', new ApiError(404, 'NotFound', 'the server could not find the requested resource'))
  const { watch } = await watching(server)
  const { nodes, missing, unlisted } = watch.view()
  expect(nodes.map(({ key }) => key)).toEqual(['a'])
  expect(missingLines(missing).toSorted()).toEqual([
    'ConfigMap joiner-prices: there is none in the namespace "joiner"; give Joiner\'s namespace by --joiner-namespace',
    'nodeclaims: the server could not find the requested resource; install the CRDs where Joiner runs (joiner admin crds apply)',
    'pods: no right to read it; the role joiner-operator has that right (kubectl auth can-i list pods --all-namespaces)',
  ])
  expect(unlisted.toSorted()).toEqual(['ConfigMap joiner-prices', 'nodeclaims', 'pods'])
})

test('a right that is granted later is noticed', async () => {
  const server = new FakeServer()
  server.failures.set('nodes', forbidden('nodes'))
  const { watch, changes } = await watching(server)
  server.failures.clear()
  server.lists.set('nodes', [node('a')])
  await pass(15_000)
  expect(ofNodes(watch)).toEqual([])
  expect(changes.at(-1)?.nodes.map(({ key }) => key)).toEqual(['a'])
})

test('changes are gathered, and gone objects are named', async () => {
  const server = new FakeServer()
  server.lists.set('nodes', [node('a'), node('b')])
  const { watch, changes } = await watching(server)
  await pass(0)
  server.send('nodes', 'ADDED', node('c'))
  await pass(5)
  server.send('nodes', 'DELETED', node('a'))
  await pass(5)
  expect(changes).toEqual([])
  await pass(10)
  expect(changes.map(({ nodes, gone }) => [nodes.map(({ key }) => key), gone])).toEqual([[['c'], ['a']]])
  expect(watch.view().nodes.map(({ key }) => key)).toEqual(['b', 'c'])
  // A bookmark or an unchanged object is no change.
  server.send('nodes', 'MODIFIED', node('b'))
  await pass(1000)
  expect(changes).toHaveLength(1)
  // In a burst, the next changes are reported together.
  for (const name of ['d', 'e', 'f']) {
    server.send('nodes', 'ADDED', node(name))
    await pass(50)
  }
  expect(changes.slice(1).map(({ nodes }) => nodes.map(({ key }) => key))).toEqual([['d']])
  await pass(250)
  expect(changes.slice(2).map(({ nodes }) => nodes.map(({ key }) => key))).toEqual([['e', 'f']])
})

test('who may list but not watch is told of which moment the view is', async () => {
  const server = new FakeServer()
  server.lists.set('nodes', [node('a')])
  const { watch } = await watching(server)
  server.failures.set('nodes', forbidden('nodes'))
  server.breakWatch('nodes', forbidden('nodes'))
  await pass(1000)
  expect(ofNodes(watch)).toEqual([
    expect.stringMatching(
      /^nodes: no right to watch it, shown as it was at 2026-\S+Z; the role joiner-operator .*can-i watch nodes/,
    ),
  ])
  expect(watch.view().unlisted).not.toContain('nodes')
})

test('what the planner found about pending pods is read again and again', async () => {
  const server = new FakeServer()
  const pending = { ...node('web'), metadata: { ...(node('web')['metadata'] as Json), namespace: 'shop' } }
  server.lists.set('pods', [pending])
  const { watch, changes } = await watching(server)
  expect(watch.view().pending.map(({ finding }) => finding)).toEqual(['kube-scheduler has not tried it yet'])
  const found = {
    state: 'unschedulable',
    cause: 'too-big',
    pods: ['shop/web'],
    count: 1,
    sinceMs: 0,
    plannedOn: [],
    finding: 'no instance type is large enough',
    funnel: [],
    remedies: [],
  } as const
  server.objects.set('/api/v1/namespaces/joiner/configmaps/joiner-waiting-pods', {
    data: { [summaryKey]: formatWaitingSummary(Date.now(), []), 'a-key': formatWaitingClass(found) },
  })
  await pass(6000)
  expect(changes.at(-1)?.pending).toEqual([found])
})

const prices = '/api/v1/namespaces/joiner/configmaps/joiner-prices'
const ofPrices = (watch: ClusterWatch) => gapLines(watch.view()).filter((line) => line.includes('joiner-prices'))

test('a price list prices the nodes', async () => {
  const server = new FakeServer()
  const priced = node('a')
  const metadata = {
    ...(priced['metadata'] as Json),
    labels: { 'node.kubernetes.io/instance-type': 'Standard_D4s_v5' },
  }
  server.lists.set('nodes', [{ ...priced, metadata }])
  const { watch } = await watching(server)
  expect(watch.view().totals).toMatchObject({ pricePerHour: 0, unpriced: 1 })
  const list = { region: 'westus2', onDemand: { Standard_D4s_v5: 0.2, Standard_D2s_v5: 0 }, spot: {} }
  server.objects.set(prices, {
    data: { format: '1', readAt: '2026-01-01T00:00:00Z' },
    binaryData: { 'document.json.gz': gzipSync(JSON.stringify(list)).toString('base64') },
  })
  const { watch: later } = await watching(server)
  expect(later.view().totals).toMatchObject({ pricePerHour: 0.2, unpriced: 0 })
  expect(ofPrices(later)).toEqual([])
})

test.each<[string, (server: FakeServer) => void, string]>([
  ['may not be read', (server) => server.failures.set(prices, forbidden('configmaps')), 'no right to read it'],
  [
    'is damaged',
    (server) =>
      server.objects.set(prices, {
        data: { format: '1', readAt: '2026-01-01T00:00:00Z' },
        binaryData: { 'document.json.gz': 'AAAA' },
      }),
    'kubectl delete configmap joiner-prices --namespace joiner',
  ],
])('a price list that %s is named', async (_, prepare, expected) => {
  const server = new FakeServer()
  prepare(server)
  const { watch } = await watching(server)
  expect(ofPrices(watch)).toEqual([expect.stringContaining(expected)])
})

test('a lost connection is said until it is back', async () => {
  const server = new FakeServer()
  server.lists.set('nodes', [node('a')])
  const { watch } = await watching(server)
  await pass(0)
  server.failures.set('nodes', new Error('connect ECONNREFUSED'))
  server.breakWatch('nodes', new Error('other side closed'))
  await pass(1000)
  expect(ofNodes(watch)).toEqual([
    expect.stringMatching(/^nodes: other side closed, shown as it was at 2026-\S+Z; check that the API server answers/),
  ])
  expect(watch.view().nodes).toHaveLength(1)
  server.failures.clear()
  await pass(15_000)
  expect(ofNodes(watch)).toEqual([])
})

test('after a version was forgotten, what is missing from the list is gone', async () => {
  const server = new FakeServer()
  server.lists.set('nodes', [node('a'), node('b')])
  const { watch } = await watching(server)
  await pass(0)
  server.lists.set('nodes', [node('b')])
  server.breakWatch('nodes', new ApiError(410, 'Expired', 'too old resource version'))
  await pass(2000)
  expect(watch.view().nodes.map(({ key }) => key)).toEqual(['b'])
})

test('nothing is left when nothing can be listed', async () => {
  const server = new FakeServer()
  for (const resource of ['nodes', 'nodeclaims', 'nodepools', 'pods'])
    server.failures.set(resource, new Error('connect ECONNREFUSED 127.0.0.1:1'))
  await expect(ClusterWatch.start({ client: server.client, namespace: 'joiner' })).rejects.toThrow('ECONNREFUSED')
})
