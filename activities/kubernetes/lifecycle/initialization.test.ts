import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { claimJson, condition, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { awaitInitialization } from './joining.ts'

// Each name says which test of upstream's suite nodeclaim/lifecycle, Initialization, it answers to.
useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const gpu = 'nvidia.com/gpu'
const startupTaints = [
  { key: 'custom-startup-taint', value: 'custom-startup-value', effect: 'NoSchedule' },
  { key: 'other-custom-startup-taint', value: 'other-custom-startup-value', effect: 'NoExecute' },
]
const ephemeralTaints = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
]
const resources = (has: Json) => ({
  capacity: { cpu: '4', memory: '16Gi', ...has },
  allocatable: { cpu: '4', memory: '16Gi', ...has },
})

/** A registered claim that waits for its Node, which registered without the label of an initialized one. */
function world(spec: Json, node: { readonly spec?: Json; readonly status?: Json }) {
  const cluster = new FakeCluster()
  const conditions = [condition('Launched'), condition('Registered'), condition('Initialized', 'Unknown')]
  cluster.put('nodeclaims', claimJson('a', { spec, status: { conditions } }))
  const labels = { 'karpenter.sh/nodepool': 'default', 'karpenter.sh/registered': 'true' }
  cluster.put('nodes', nodeJson('a', { metadata: { labels }, ...node }))
  const end = new AbortController()
  const outcome = awaitInitialization(kubernetesDeps(cluster).deps, ref, end.signal)
  return {
    cluster,
    outcome,
    state: () => ({
      condition: cluster.object('nodeclaims', 'a')?.status.conditions.find(({ type }) => type === 'Initialized'),
      label: cluster.object('nodes', 'aks-a')?.metadata.labels['karpenter.sh/initialized'],
    }),
  }
}

test('a NodeClaim that was initialized while Temporal was away waits no more for its Node, which is not ready since', async () => {
  const cluster = new FakeCluster()
  const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type))
  cluster.put('nodeclaims', claimJson('a', { status: { conditions } }))
  cluster.put('nodes', nodeJson('a', { status: { conditions: [condition('Ready', 'Unknown')] } }))
  const outcome = awaitInitialization(kubernetesDeps(cluster).deps, ref, new AbortController().signal)
  expect(await ended(outcome)).toMatchObject({ kind: 'initialized' })
})

describe('upstream nodeclaim/lifecycle initialization', () => {
  test('should consider the NodeClaim initialized when all initialization conditions are met, and add the initialization label to the node', async () => {
    const { outcome, state } = world({}, {})
    expect(await ended(outcome)).toMatchObject({ kind: 'initialized' })
    expect(state()).toMatchObject({ condition: { status: 'True' }, label: 'true' })
  })

  test.each<[string, Json, { readonly spec?: Json; readonly status?: Json }, Json, string]>([
    [
      'the status of the Node is NotReady',
      {},
      { status: { conditions: [condition('Ready', 'False')] } },
      { status: { conditions: [condition('Ready')] } },
      'NodeNotReady',
    ],
    [
      "all requested resources aren't registered, but once all the resources are registered",
      { resources: { requests: { cpu: '1', [gpu]: '1' } } },
      { status: { conditions: [condition('Ready')], ...resources({}) } },
      { status: resources({ [gpu]: '2' }) },
      'ResourceNotRegistered',
    ],
    [
      'a requested resource is registered as none, but once the device plugin counts it',
      { resources: { requests: { cpu: '1', [gpu]: '1' } } },
      { status: { conditions: [condition('Ready')], ...resources({ [gpu]: '0' }) } },
      { status: resources({ [gpu]: '1' }) },
      'ResourceNotRegistered',
    ],
    [
      "all startupTaints aren't removed, but once all the startupTaints are removed",
      { startupTaints },
      { spec: { taints: startupTaints.slice(1) } },
      { spec: { taints: [] } },
      'StartupTaintsExist',
    ],
    ...ephemeralTaints.map(
      (taint) =>
        [
          `all ephemeralTaints aren't removed (${taint.key}), but once all the ephemeralTaints are removed`,
          {},
          { spec: { taints: [taint] } },
          { spec: { taints: [] } },
          'KnownEphemeralTaintsExist',
        ] as [string, Json, { readonly spec?: Json }, Json, string],
    ),
  ])('should not consider the Node to be initialized when %s', async (_, spec, node, later, reason) => {
    const { cluster, outcome, state } = world(spec, node)
    await pass(60_000)
    expect(state()).toMatchObject({ condition: { status: 'Unknown', reason }, label: undefined })
    cluster.edit('nodes', 'aks-a', later)
    expect(await ended(outcome)).toMatchObject({ kind: 'initialized' })
    expect(state()).toMatchObject({ condition: { status: 'True' }, label: 'true' })
  })
})

test('a Node that goes before it is initialized is looked for again within seconds', async () => {
  const { cluster, outcome } = world({}, { status: { conditions: [condition('Ready', 'False')] } })
  await pass(60_000)
  cluster.remove('nodes', 'aks-a')
  const again = await Promise.race([outcome, pass(1000).then(() => 'still waiting')])
  expect(again).toMatchObject({ kind: 'observeAgain' })
})
