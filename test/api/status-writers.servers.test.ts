import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { type ObjectRef, type StatusKind, setConditions } from '../../activities/kubernetes/client/status-writes.ts'
import { EventRecorder } from '../../activities/kubernetes/event-recorder.ts'
import { conditionOf, dependents, isTrueAt } from '../../core/conditions.ts'
import type { Condition } from '../../core/objects.ts'
import type { Operator } from '../../deploy/local/operator.ts'
import { nodeClass, nodePool } from '../applied-objects.ts'
import { ApiServer } from '../clusters/api-server.ts'

let server: ApiServer
let operator: Operator
let writers: readonly Writer[] = []

/** One process' view: its own connection, and a cache that lags behind what the other one writes. */
interface Writer {
  readonly client: KubernetesClient
  readonly cache: ClusterCache
  readonly events: EventRecorder
  readonly now: () => number
}

beforeAll(async () => {
  server = await ApiServer.start()
  operator = server.operator
  writers = await Promise.all([writer(), writer()])
})

afterAll(async () => {
  for (const { cache } of writers) cache.stop()
  for (const { client } of writers) await client.close()
  await server?.stop()
})

async function writer(): Promise<Writer> {
  const client = await KubernetesClient.load(server.cluster.adminKubeconfig)
  const log = pino({ level: 'silent' })
  const cache = new ClusterCache(client, log)
  cache.start()
  await cache.synced()
  return { client, cache, events: new EventRecorder(client, log), now: () => Date.now() }
}

interface Stored {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation: number }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

interface Race {
  readonly path: string
  readonly object: object
  readonly kind: StatusKind
  readonly types: readonly [string, string]
  readonly rounds: number
}

const claims = '/apis/karpenter.sh/v1/nodeclaims'
const pools = '/apis/karpenter.sh/v1/nodepools'
const classes = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses'
const claim = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'raced' },
  spec: {
    requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }],
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
  },
}

describe('two processes that set different conditions of one object at the same time', () => {
  test.each<Race>([
    { path: claims, object: claim, kind: 'NodeClaim', types: ['Drifted', 'Consolidatable'], rounds: 50 },
    { path: claims, object: claim, kind: 'NodeClaim', types: ['Launched', 'Registered'], rounds: 50 },
    { path: pools, object: nodePool(), kind: 'NodePool', types: dependents.NodePool, rounds: 50 },
    { path: classes, object: nodeClass(), kind: 'AKSNodeClass', types: ['ImagesReady', 'SubnetsReady'], rounds: 50 },
  ])('$kind, $types: neither is lost in any of $rounds rounds', async ({ path, object, kind, types, rounds }) => {
    const { metadata } = await operator.api<Stored>('POST', path, object)
    const ref: ObjectRef = { name: metadata.name, uid: metadata.uid }
    const read = () => operator.api<Stored>('GET', `${path}/${ref.name}`)
    for (let round = 1; round <= rounds; round++) {
      const status = round % 2 === 0 ? 'True' : 'False'
      await Promise.all(
        types.map((type, i) =>
          setConditions(writers[i] as Writer, { kind, ref }, () => ({
            conditions: [{ type, status, reason: 'Round', message: String(round) }],
          })),
        ),
      )
      const conditions = (await read()).status?.conditions ?? []
      expect(types.map((type) => conditionOf(conditions, type)?.message)).toEqual([String(round), String(round)])
      const all = dependents[kind].every((type) => isTrueAt(conditions, type, metadata.generation))
      expect(conditionOf(conditions, 'Ready')?.status === 'True').toBe(all)
    }
    const { metadata: last } = await read()
    expect(last.uid).toBe(ref.uid)
    await operator.api('DELETE', `${path}/${ref.name}`)
  })
})

test('an object of the same name that came after is not written to', async () => {
  const { metadata } = await operator.api<Stored>('POST', claims, claim)
  const written = await setConditions(
    writers[0] as Writer,
    { kind: 'NodeClaim', ref: { name: metadata.name, uid: 'another' } },
    () => ({
      conditions: [{ type: 'Drifted', status: 'True' }],
    }),
  )
  expect(written).toBeUndefined()
  expect((await operator.api<Stored>('GET', `${claims}/${metadata.name}`)).status).toBeUndefined()
})

test('what stands there already is not written again', async () => {
  const { metadata } = await operator.api<Stored>('POST', pools, { ...nodePool(), metadata: { name: 'still' } })
  const set = () =>
    setConditions(writers[0] as Writer, { kind: 'NodePool', ref: metadata }, () => ({
      conditions: dependents.NodePool.map((type) => ({ type, status: 'True' })),
    }))
  const first = await set()
  const second = await set()
  expect(second?.metadata.resourceVersion).toBe(first?.metadata.resourceVersion)
  expect(conditionOf(second?.conditions ?? [], 'Ready')?.status).toBe('True')
})
