import pino from 'pino'
import { expect, test } from 'vitest'
import { ClusterCache } from '../cache/cluster-cache.ts'
import { decodeNode } from '../cache/decode.ts'
import type { Json } from '../client/answers.ts'
import type { Operation } from '../client/json-patch.ts'
import { beginNodeDeletion } from './node-deletion.ts'

const ours = 'karpenter.sh/termination'
const taint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }
const excluded = { 'node.kubernetes.io/exclude-from-external-load-balancers': 'karpenter' }

/** Returns what is written to a Node, and whether its deletion is requested. */
async function begun(metadata: Json, taints: readonly Json[]) {
  const json = { metadata: { name: 'a', uid: 'a', resourceVersion: '1', ...metadata }, spec: { taints } }
  const patches: (readonly Operation[])[] = []
  let deletions = 0
  const client = {
    inTurn: (_: string, section: () => unknown) => section(),
    jsonPatch: async (_: string, operations: readonly Operation[]) => {
      patches.push(operations.filter(({ op }) => op !== 'test'))
      return { ...json, metadata: { ...json.metadata, resourceVersion: '2' } }
    },
    delete: async () => {
      deletions += 1
    },
  }
  const cache = new ClusterCache({} as never, pino({ level: 'silent' }))
  cache.upsert('Node', json)
  await beginNodeDeletion({ client, cache } as never, decodeNode(json))
  return { patches, deletions }
}

const leave: Operation = { op: 'add', path: '/metadata/labels', value: excluded }
const taints = '/spec/taints'

test.each<[string, Json, readonly Json[], readonly (readonly Operation[])[], number]>([
  [
    'is marked and held',
    { finalizers: [] },
    [],
    [[leave, { op: 'add', path: '/metadata/finalizers', value: [ours] }, { op: 'add', path: taints, value: [taint] }]],
    1,
  ],
  ['that a command has tainted leaves load balancers too', { finalizers: [ours] }, [taint], [[leave]], 1],
  [
    'has one taint of the key',
    { finalizers: [ours] },
    [
      { ...taint, value: 'x' },
      { key: 'b', effect: 'NoExecute' },
    ],
    [[leave, { op: 'replace', path: taints, value: [{ key: 'b', effect: 'NoExecute' }, taint] }]],
    1,
  ],
  [
    'that is being deleted gets no finalizer',
    { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['other'] },
    [],
    [[leave, { op: 'add', path: taints, value: [taint] }]],
    0,
  ],
  [
    'that is marked already is left as it is',
    { labels: excluded, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [ours] },
    [taint],
    [],
    0,
  ],
])('a Node %s', async (_, metadata, tainted, patches, deletions) => {
  const written = await begun(metadata, tainted)
  expect(written.patches).toEqual(patches)
  expect(written.deletions).toBe(deletions)
})
