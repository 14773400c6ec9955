import { expect, test } from 'vitest'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { ownedNames } from '../../../api/rights/rights.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { at, claimJson } from '../../../test/fakes/objects.ts'
import { isConvertedByJoiner, releaseOf } from '../shared/crd-release.ts'
import { finishStep, stopStep } from './cluster-steps.ts'
import type { Uninstallation } from './context.ts'
import { freeClaim, freeNode, type SeenObject, startAgain } from './objects.ts'

const object = (name: string, metadata: Partial<SeenObject['metadata']>): SeenObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: '7', ...metadata },
})
const finalizer = 'karpenter.sh/termination'
const ownedBy = (name: string) => ({ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name })

test('a Node loses the finalizer and its NodeClaim as owner, and keeps those of others', () => {
  const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other' }
  const node = object('aks-a', { finalizers: ['example.com/f', finalizer], ownerReferences: [ownedBy('a'), other] })
  expect(freeNode([object('a', {})])(node)).toEqual({
    metadata: { resourceVersion: '7', finalizers: ['example.com/f'], ownerReferences: [other] },
  })
})

test.each([
  ['owned by a NodeClaim of another provider', { finalizers: [finalizer], ownerReferences: [ownedBy('theirs')] }],
  ['of AKS', { finalizers: ['example.com/f'] }],
])('a Node %s is left alone', (_, metadata) => {
  expect(freeNode([object('a', {})])(object('aks-b', metadata))).toBeUndefined()
})

test('an object without the finalizer needs no write', () => {
  expect(freeClaim(object('a', { finalizers: ['example.com/f'] }))).toBeUndefined()
})

const crd = (clientConfig: unknown, annotations = {}) => ({
  metadata: { resourceVersion: '3', annotations },
  spec: {
    conversion: { strategy: 'Webhook', webhook: { clientConfig } },
    versions: [
      { name: 'v1', served: true, storage: true },
      { name: 'v1beta1', served: true, storage: false },
    ],
  },
})

test("a CRD at Joiner's Service is detached: None, v1 alone is served, no marker", () => {
  const found = crd({ service: { name: 'joiner-conversion' } }, { 'joiner.sh/installation': '{}' })
  expect(releaseOf(found)).toEqual([
    {
      op: 'replace',
      path: '/spec',
      value: {
        conversion: { strategy: 'None' },
        versions: [
          { name: 'v1', served: true, storage: true },
          { name: 'v1beta1', served: false, storage: false },
        ],
      },
    },
    { op: 'remove', path: '/metadata/annotations/joiner.sh~1installation' },
  ])
})

test("a CRD at somebody else's Service is left alone", () => {
  const found = crd({ service: { name: 'karpenter' } })
  expect(isConvertedByJoiner(found)).toBe(false)
  expect(releaseOf(found)).toEqual([])
})

test('what the processes write for themselves is deleted, and the maintenance window of AKS is not', () => {
  expect([...ownedNames('configmaps')]).toEqual(
    expect.arrayContaining(['joiner-pauses', 'joiner-catalogue', 'joiner-prices', 'joiner-quarantine']),
  )
  expect(ownedNames('configmaps').has('upcoming-maintenance-window')).toBe(false)
  expect([...ownedNames('leases')].sort()).toEqual([
    'joiner-bridge',
    'joiner-disruption-fence',
    'joiner-maintenance',
    'joiner-planner',
    'joiner-planner-fence',
  ])
})

test.each([
  ['the chart is installed', [object('joiner', {})], 'helm upgrade nodes deploy/chart --namespace system '],
  ['nothing is installed', [], 'install the chart again as release "nodes" in namespace "system"'],
])(
  'where %s, Joiner starts again by its chart: kubectl scale would make the next upgrade fail',
  async (_, items, words) => {
    const kubernetes = {
      async *listPages() {
        yield { items }
      },
    } as unknown as KubernetesClient
    const options = { joinerNamespace: 'system', release: 'nodes' } as Uninstallation['options']
    const remedy = await startAgain({ kubernetes, options })
    expect(remedy).toContain(words)
    expect(remedy).not.toContain('kubectl')
  },
)

test('a node that begins to go while Joiner stops is not left half-way: Joiner has to finish it first', async () => {
  const cluster = new FakeCluster()
  const labels = { 'app.kubernetes.io/name': 'joiner', 'app.kubernetes.io/instance': 'joiner' }
  cluster.put('nodeclaims', claimJson('a'))
  cluster.put('deployments', { metadata: { name: 'joiner', namespace: 'joiner', labels }, spec: { replicas: 2 } })
  cluster.intercept(({ verb, path }) => {
    if (verb === 'patch' && path.includes('/deployments/'))
      cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
  })
  const uninstallation: Uninstallation = {
    kubernetes: cluster.client,
    temporal: { cluster: 'test', client: { workflow: { count: async () => ({ count: 0 }) } } } as never,
    options: { joinerNamespace: 'joiner', release: 'joiner', nodes: 'keep' } as Uninstallation['options'],
    timeoutMs: 10_000,
    say: () => {},
  }
  expect(await finishStep(uninstallation)()).toBeUndefined()
  const stop = await stopStep(uninstallation)()
  await expect(stop?.run()).rejects.toThrow(/NodeClaim being launched or deleted \(a\).* start it: helm upgrade joiner/)
})
