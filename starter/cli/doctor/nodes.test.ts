import { expect, test } from 'vitest'
import { decodeNode, decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { formatWithheld } from '../../../api/withheld-machines.ts'
import { claimJson, nodeJson } from '../../../test/fakes/objects.ts'
import type { DoctorContext } from './check.ts'
import { examineCancellations, examineKeptDocuments, examineLostClaims, nodesFinding } from './nodes.ts'

const found = (nodes: readonly Json[], claims: readonly Json[]) =>
  nodesFinding(
    nodes.map((json) => decodeNode(json)),
    claims.map((json) => decodeNodeClaim(json)),
  )

const evil = nodeJson('a', { metadata: { name: 'evil', uid: 'evil', ownerReferences: [] } })

const going = { deletionTimestamp: '2026-01-01T00:00:00Z' }

test.each<[string, ReturnType<typeof nodesFinding>, 'ok' | 'warn', RegExp]>([
  ['each its own', found([nodeJson('a')], [claimJson('a')]), 'ok', /^$/],
  [
    'a Node that poses as another',
    found([nodeJson('a'), evil], [claimJson('a')]),
    'warn',
    /Node evil: spec.providerID.*NodeClaim a$/,
  ],
  [
    'a Node that finalizers of others hold, whose NodeClaim is gone',
    found([nodeJson('a', { metadata: { ...going, finalizers: ['example.com/backup'] } })], []),
    'warn',
    /^Node aks-a: .* example.com\/backup; .* kubectl patch node aks-a/,
  ],
  [
    'one that Joiner holds as well',
    found([nodeJson('a', { metadata: { ...going, finalizers: ['x/y', 'karpenter.sh/termination'] } })], []),
    'ok',
    /^$/,
  ],
  [
    'one of an agent pool',
    found([nodeJson('a', { metadata: { ...going, finalizers: ['x/y'], labels: {}, ownerReferences: [] } })], []),
    'ok',
    /^$/,
  ],
  ['a NodeClaim without its Node', found([], [claimJson('a')]), 'warn', /^NodeClaim a: /],
  [
    'one that is being deleted',
    found([], [claimJson('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })]),
    'ok',
    /^$/,
  ],
])('%s', (_, { status, details = [] }, expected, detail) => {
  expect(status).toBe(expected)
  expect(details.join('\n')).toMatch(detail)
})

const examined = (get: () => Promise<unknown>, claims: readonly Json[] = []) => {
  const kubernetes = {
    get,
    listPages: async function* () {
      yield { items: claims }
    },
  }
  const context = { config: { JOINER_NAMESPACE: 'joiner' }, kubernetes, now: Date.now } as unknown as DoctorContext
  return examineLostClaims(context)
}

test('machines that run pods without a NodeClaim are named, with what they cost and what ends them', async () => {
  const machine = { kind: 'VM', name: 'aks-a', node: 'aks-a', pods: 2, costPerDay: 2.304 } as const
  const data = { Machines: formatWithheld(Date.parse('2026-11-21T12:00:00Z'), [machine]) }
  expect(await examined(() => Promise.resolve({ data }))).toEqual({
    status: 'warn',
    summary:
      '1 machine without a NodeClaim kept since pods run there, 2.30 USD a day (found at 2026-11-21T12:00:00.000Z)',
    details: ['VM aks-a: its Node aks-a is Ready and runs 2 pods; 2.30 USD a day'],
    remedies: [
      'what becomes of them: joiner admin adopt --dry-run; to have that at once: joiner admin adopt',
      'to have one deleted: joiner admin adopt --delete NODE, or kubectl drain NODE --ignore-daemonsets --delete-emptydir-data',
    ],
  })
})

test('VMs without NodeClaims are named with what becomes of them, and NodeClaims that were made again with the time', async () => {
  const vm = { kind: 'VM', name: 'aks-a', node: 'aks-a', pods: 2, costPerDay: 2.304 } as const
  const machines = [
    { ...vm, plan: 'adopt', adoptedAt: Date.parse('2026-11-21T12:10:00Z'), differs: 'NodePool "x" differs' },
    { ...vm, plan: 'drain' },
    { ...vm, plan: 'left', why: 'Azure calls it Failed', remedy: 'az vm reapply --ids ID' },
  ] as const
  const data = { Machines: formatWithheld(Date.parse('2026-11-21T12:00:00Z'), machines, 'most of them contradict') }
  const annotations = { 'joiner.sh/adopted-from': 'uid-before' }
  const again = (name: string, minute: number) =>
    claimJson(name, { metadata: { annotations, creationTimestamp: `2026-11-21T11:0${minute}:00Z` } })
  const lost = await examined(async () => ({ data }), [again('a', 1), again('b', 3), claimJson('c')])
  expect(lost).toMatchObject({
    summary: expect.stringContaining('; 2 NodeClaims made again, the last at 2026-11-21T11:03:00Z: a, b'),
    details: [
      'VM aks-a: its Node aks-a is Ready and runs 2 pods; 2.30 USD a day; gets a NodeClaim again at 2026-11-21T12:10:00Z, or by joiner admin adopt; NodePool "x" differs',
      'VM aks-a: its Node aks-a is Ready and runs 2 pods; 2.30 USD a day; gets a NodeClaim again to be drained and to end, since its Node is being deleted, once joiner admin adopt is run',
      'VM aks-a: its Node aks-a is Ready and runs 2 pods; 2.30 USD a day; gets no NodeClaim: Azure calls it Failed; az vm reapply --ids ID',
    ],
    remedies: ['most of them contradict', expect.stringContaining('joiner admin adopt --delete NODE')],
  })
})

test('without any all is well, and an API server that does not answer is an error', async () => {
  expect(await examined(() => Promise.reject(new ApiError(404, 'NotFound', 'gone')))).toMatchObject({ status: 'ok' })
  await expect(examined(() => Promise.reject(new ApiError(500, 'InternalError', 'away')))).rejects.toThrow('away')
})

test('lifecycles that somebody cancelled in Temporal are counted, with what to do instead', async () => {
  const at = new Date().toISOString()
  const checked = (data: object) => {
    const kubernetes = { get: async () => ({ data }) }
    const context = { config: { JOINER_NAMESPACE: 'joiner' }, kubernetes, now: Date.now }
    return examineCancellations(context as unknown as DoctorContext)
  }
  expect(await checked({ 'accepted.a': JSON.stringify({ at, nodeClaim: 'a', nodePool: 'p' }) })).toMatchObject({
    status: 'ok',
  })
  expect(await checked({ 'accepted.a': '{}' })).toMatchObject({
    status: 'warn',
    details: [
      expect.stringMatching(/^ConfigMap joiner\/joiner-cancellations: accepted\.a cannot be used: at is missing: /),
    ],
  })
  expect(await checked({ 'refused.a': at, 'refused.b': at })).toMatchObject({
    status: 'warn',
    summary: expect.stringMatching(
      /^2 cancellations of lifecycles in Temporal were refused at .*kubectl delete nodeclaim/,
    ),
  })
})

test('documents that only processes use are looked at; those that are damaged are named, and those that may not be read', async () => {
  const looked = (get: (path: string) => Promise<unknown>) => {
    const context = { config: { JOINER_NAMESPACE: 'joiner' }, kubernetes: { get }, now: () => 0 }
    return examineKeptDocuments(context as unknown as DoctorContext)
  }
  const missing = () => Promise.reject(new ApiError(404, 'NotFound', 'gone'))
  expect(await looked(missing)).toMatchObject({ status: 'ok', summary: expect.stringContaining('can be read') })
  expect(await looked(() => Promise.reject(new ApiError(403, 'Forbidden', 'no')))).toMatchObject({
    status: 'ok',
    summary: expect.stringMatching(/joiner-catalogue.*joiner-node-refusals; joiner status shows them$/),
  })
  const odd = { metadata: { resourceVersion: '1' }, data: { format: '2', readAt: 'now' } }
  expect(await looked((path) => (path.endsWith('joiner-catalogue') ? Promise.resolve(odd) : missing()))).toMatchObject({
    status: 'warn',
    details: [expect.stringMatching(/^ConfigMap joiner\/joiner-catalogue: readAt cannot be used: it is "now"/)],
  })
})
