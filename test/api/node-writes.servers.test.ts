import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeNode } from '../../activities/kubernetes/cache/decode.ts'
import { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { updateNode } from '../../activities/kubernetes/client/object-writes.ts'
import type { Node, Taint } from '../../core/objects.ts'
import type { Operator } from '../../deploy/local/operator.ts'
import type { ProcessSpec } from '../../deploy/local/supervisor.ts'
import { ApiServer } from '../clusters/api-server.ts'

let server: ApiServer
let operator: Operator
let client: KubernetesClient
let controllers: ProcessSpec | undefined

beforeAll(async () => {
  server = await ApiServer.start()
  // It would write to the Nodes at moments of its own.
  controllers = await server.cluster.supervisor.stop('kube-controller-manager')
  operator = server.operator
  client = await KubernetesClient.load(server.cluster.adminKubeconfig)
})

afterAll(async () => {
  await client?.close()
  if (controllers !== undefined) server.cluster.supervisor.start(controllers)
  await server?.stop()
})

const path = (name: string) => `/api/v1/nodes/${name}`
const ours: Taint = { key: 'ours', effect: 'NoSchedule' }
const theirs: Taint = { key: 'theirs', effect: 'NoSchedule' }

async function create(name: string, spec: object = {}): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name }
  await operator.api('POST', '/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', metadata: { name, labels }, spec })
}

const read = async (name: string): Promise<Node> => decodeNode(await operator.api('GET', path(name)))
const keys = ({ taints }: Node) => taints.map(({ key }) => key)

/** Adds our taint and more, by a Node as it was before `meanwhile`. Returns it afterwards, and how often it was read again. */
async function taintedBy(
  name: string,
  meanwhile: () => Promise<unknown>,
  more: (node: Node) => Readonly<Record<string, unknown>> = () => ({}),
) {
  const seen = await read(name)
  await meanwhile()
  let reads = 0
  const counted = {
    get: (what: string) => {
      reads += 1
      return client.get(what)
    },
    inTurn: client.inTurn.bind(client),
    jsonPatch: client.jsonPatch.bind(client),
  }
  const cache = { nodes: new Map([[name, seen]]), upsert: () => {} }
  const after = await updateNode({ client: counted, cache } as never, name, (node) =>
    node.taints.some(({ key }) => key === ours.key)
      ? undefined
      : { ...more(node), spec: { taints: [...node.taints, ours] } },
  )
  return { after, reads }
}

test('other fields that were written meanwhile neither get lost nor cost another attempt', async () => {
  await create('labelled', { taints: [theirs] })
  const labels = { 'example.com/late': 'yes' }
  const { after, reads } = await taintedBy(
    'labelled',
    () => operator.api('PATCH', path('labelled'), { metadata: { labels, annotations: { late: 'yes' } } }),
    () => ({ metadata: { labels: { 'example.com/mine': 'yes' }, finalizers: ['example.com/held'] } }),
  )
  expect(reads).toBe(0)
  const node = await read('labelled')
  expect(node.metadata.labels).toMatchObject({ ...labels, 'example.com/mine': 'yes' })
  expect(node.metadata.annotations).toMatchObject({ late: 'yes' })
  expect(node.metadata.finalizers).toEqual(['example.com/held'])
  expect(keys(node)).toEqual(keys(after as Node))
  expect(keys(node)).toEqual(expect.arrayContaining(['theirs', 'ours']))
})

test.each<[string, object, object]>([
  ['grew', { taints: [theirs] }, { spec: { taints: [theirs, { key: 'late', effect: 'NoExecute' }] } }],
  ['began', {}, { spec: { taints: [{ key: 'late', effect: 'NoExecute' }] } }],
])('a list that %s meanwhile is decided on again', async (name, spec, change) => {
  await create(name, spec)
  const { reads } = await taintedBy(name, () => operator.api('PATCH', path(name), change))
  expect(reads).toBeGreaterThan(0)
  expect(keys(await read(name))).toEqual(expect.arrayContaining(['late', 'ours']))
})

test('a list is emptied, and what the API server finds invalid is no conflict', async () => {
  await create('emptied', { taints: [theirs] })
  const cache = { nodes: new Map([['emptied', await read('emptied')]]), upsert: () => {} }
  await updateNode({ client, cache } as never, 'emptied', () => ({ spec: { taints: [] } }))
  expect(keys(await read('emptied'))).not.toContain('theirs')
  const wrong = () => ({ metadata: { labels: { 'not a label': 'x' } } })
  await expect(updateNode({ client, cache } as never, 'emptied', wrong)).rejects.toMatchObject({ code: 422 })
})

test('another Node of the name is decided on again, and one that is being deleted by now', async () => {
  await create('again')
  const { after } = await taintedBy('again', async () => {
    await operator.api('DELETE', path('again'))
    await create('again', { taints: [theirs] })
  })
  expect(keys(after as Node)).toEqual(expect.arrayContaining(['theirs', 'ours']))
  await operator.api('PATCH', path('again'), { metadata: { finalizers: ['example.com/held'] }, spec: { taints: [] } })
  const { reads } = await taintedBy('again', () => operator.api('DELETE', path('again')))
  expect(reads).toBeGreaterThan(0)
  await operator.api('PATCH', path('again'), { metadata: { finalizers: [] } })
})
