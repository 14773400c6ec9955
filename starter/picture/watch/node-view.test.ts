import { describe, expect, test } from 'vitest'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import {
  buildView,
  claim,
  created,
  facts,
  meta,
  node,
  now,
  type Objects,
  pod,
  waitingPod,
} from '../../../test/samples/sample-cluster.ts'
import { ClusterModel } from './cluster-model.ts'
import type { NodeView } from './cluster-view.ts'
import { claimFact, nodeFact, podFact } from './facts.ts'

const viewOf = (objects: Objects) => buildView(facts(objects), now)

function onlyNode(objects: Objects): NodeView {
  const { nodes } = viewOf(objects)
  expect(nodes).toHaveLength(1)
  return nodes[0] as NodeView
}

describe('a node and its claim', () => {
  test('are what the claim says, whatever labels a kubelet writes', () => {
    const claims = [claim('general-1', { providerID: 'azure:///aks-general-1', nodeName: 'aks-general-1' })]
    const honest = node('aks-general-1')
    const { metadata } = honest as { readonly metadata: { readonly labels: object } }
    const lies = { 'karpenter.sh/nodepool': 'empty', 'node.kubernetes.io/instance-type': 'Standard_M128ms' }
    const lying = { ...honest, metadata: { ...metadata, labels: { ...metadata.labels, ...lies } } }
    expect(viewOf({ nodes: [lying], claims })).toEqual(viewOf({ nodes: [honest], claims }))
  })

  test('are one row, with price and pods', () => {
    const view = viewOf({
      nodes: [node('aks-general-1')],
      claims: [claim('general-1', { providerID: 'AZURE:///aks-general-1', nodeName: 'aks-general-1' })],
      pods: [
        pod('web-1', { nodeName: 'aks-general-1' }),
        pod('log', { nodeName: 'aks-general-1', ownerReferences: [{ kind: 'DaemonSet', apiVersion: 'apps/v1' }] }),
        pod('done', { nodeName: 'aks-general-1', phase: 'Succeeded' }),
        waitingPod('big', '0/1 nodes are available'),
      ],
    })
    expect(view).toEqual({
      atMs: now,
      totals: {
        nodes: 1,
        pricePerHour: 0.05,
        unpriced: 0,
        phases: { Ready: 1 },
        allocatable: { cpu: 3.8, memory: 14 * 2 ** 30 },
        requested: { cpu: 1, memory: 2 * 2 ** 30 },
        pods: 2,
        pending: 1,
      },
      pools: [
        { name: 'empty', nodes: 0, pricePerHour: 0, unpriced: 0, phases: {}, allocatable: none, requested: none },
        {
          name: 'general',
          nodes: 1,
          pricePerHour: 0.05,
          unpriced: 0,
          phases: { Ready: 1 },
          allocatable: { cpu: 3.8, memory: 14 * 2 ** 30 },
          requested: { cpu: 1, memory: 2 * 2 ** 30 },
        },
      ],
      nodes: [
        {
          key: 'general-1',
          node: 'aks-general-1',
          nodeClaim: 'general-1',
          nodePool: 'general',
          phase: 'Ready',
          instanceType: 'Standard_D4s_v5',
          zone: 'westus2-1',
          capacityType: 'spot',
          pricePerHour: 0.05,
          createdMs: Date.parse(created),
          isReady: true,
          isCordoned: false,
          allocatable: { cpu: 3.8, memory: 14 * 2 ** 30, pods: 110 },
          requested: { cpu: 1, memory: 2 * 2 ** 30 },
          pods: [
            ['shop/log', 0.5, 2 ** 30, 'd'],
            ['shop/web-1', 0.5, 2 ** 30],
          ],
        },
      ],
      pending: [
        {
          state: 'unschedulable',
          pods: ['shop/big'],
          count: 1,
          sinceMs: Date.parse(created),
          plannedOn: [],
          finding: '0/1 nodes are available',
          funnel: [],
          remedies: [],
        },
      ],
      missing: [],
      damaged: [],
      unlisted: [],
    })
  })

  const none = { cpu: 0, memory: 0 }

  test.each<[string, Json, NodeView['phase'], string | undefined]>([
    ['launching', { at: 0 }, 'Launching', undefined],
    [
      'launching, refused',
      { at: 0, conditions: [{ type: 'Launched', status: 'Unknown', message: 'no capacity for Standard_D4s_v5' }] },
      'Launching',
      'no capacity for Standard_D4s_v5',
    ],
    ['registering', { at: 1 }, 'Registering', undefined],
    ['initializing', { at: 2 }, 'Initializing', undefined],
    ['ready', {}, 'Ready', undefined],
    [
      'draining',
      {
        deletionTimestamp: created,
        annotations: { 'joiner.sh/disruption-command': 'c1' },
        conditions: [
          { type: 'DisruptionReason', status: 'True', reason: 'Drifted' },
          { type: 'Drained', status: 'Unknown', message: 'waits for shop/web-1' },
        ],
      },
      'Draining',
      'Drifted (command c1): waits for shop/web-1',
    ],
    [
      'terminating',
      { deletionTimestamp: created, conditions: [{ type: 'InstanceTerminating', status: 'True' }] },
      'Terminating',
      'deleted by somebody',
    ],
    [
      'interrupted',
      { annotations: { 'joiner.sh/interrupted': 'VMEventScheduled (Preempt)' } },
      'Ready',
      'interrupted: VMEventScheduled (Preempt)',
    ],
    [
      'held',
      { annotations: { 'joiner.sh/hold-until': '2026-01-03T00:00:00Z', 'joiner.sh/hold-by': 'alice' } },
      'Ready',
      'held until 2026-01-03T00:00:00Z by alice, no reason given',
    ],
    ['held no longer', { annotations: { 'joiner.sh/hold-until': '2026-01-01T00:00:00Z' } }, 'Ready', undefined],
  ])('%s', (_, change, phase, note) => {
    const { phase: found, note: said } = onlyNode({ claims: [claim('general-1', change)] })
    expect([found, said]).toEqual([phase, note])
  })

  test('a claim before its node has what it will have', () => {
    expect(onlyNode({ claims: [claim('general-1', { at: 0 })] })).toMatchObject({
      allocatable: { cpu: 4, pods: 110 },
      pricePerHour: 0.05,
      isReady: false,
    })
  })

  test.each<[string, Json, Partial<NodeView>]>([
    ['of another provisioner', {}, { phase: 'Unmanaged', capacityType: 'on-demand', pricePerHour: 0.2 }],
    [
      'of a spot pool of AKS',
      { labels: { 'kubernetes.azure.com/scalesetpriority': 'spot' } },
      { capacityType: 'spot', pricePerHour: 0.05 },
    ],
    ['cordoned', { unschedulable: true }, { isCordoned: true, isReady: true }],
    ['not ready', { ready: 'Unknown' }, { isReady: false, note: 'not ready: NodeStatusUnknown' }],
    [
      'disrupted',
      { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] },
      { note: 'tainted for disruption' },
    ],
  ])('a node %s', (_, change, expected) => {
    expect(onlyNode({ nodes: [node('pool-1', change)] })).toMatchObject(expected)
  })

  test('a size without a price is counted', () => {
    const { totals, nodes } = viewOf({
      nodes: [node('odd', { labels: { 'node.kubernetes.io/instance-type': 'Other' } })],
    })
    expect([totals.unpriced, totals.pricePerHour, nodes[0]?.pricePerHour]).toEqual([1, 0, undefined])
  })

  test.each<[string, Json, Json, readonly (readonly [string, string | undefined])[]]>([
    ['by the VM', { providerID: 'azure:///n' }, { providerID: 'azure:///n' }, [['a', 'n']]],
    ['by VM and status', { providerID: 'azure:///x' }, { providerID: 'azure:///x', nodeName: 'n' }, [['a', 'n']]],
    [
      'not by the id of the VM alone',
      { providerID: 'azure:///x' },
      { providerID: 'azure:///x' },
      [
        ['a', undefined],
        ['n', 'n'],
      ],
    ],
    ['by the status', {}, { nodeName: 'n' }, [['a', 'n']]],
    [
      'not with another VM',
      { providerID: 'azure:///x' },
      { providerID: 'azure:///y', nodeName: 'n' },
      [
        ['a', undefined],
        ['n', 'n'],
      ],
    ],
  ])('belong together %s', (_, ofNode, ofClaim, expected) => {
    const { nodes } = viewOf({ nodes: [node('n', ofNode)], claims: [claim('a', ofClaim)] })
    expect(nodes.map(({ key, node: name }) => [key, name])).toEqual(expected)
  })

  test('of two claims that name a node, the one of its VM has it', () => {
    const { nodes, totals } = viewOf({
      nodes: [node('n', { providerID: 'azure:///x' })],
      claims: [claim('a', { nodeName: 'n' }), claim('b', { providerID: 'azure:///x', nodeName: 'n' })],
      pods: [pod('p', { nodeName: 'n' })],
    })
    expect(nodes.map(({ key, node: name }) => [key, name])).toEqual([
      ['a', undefined],
      ['b', 'n'],
    ])
    expect(totals.pods).toBe(1)
  })

  test('a node that has the name of another claim keeps a row', () => {
    const { nodes } = viewOf({
      nodes: [node('a', { providerID: 'azure:///x' })],
      claims: [claim('a', { providerID: 'azure:///y' })],
    })
    expect(nodes.map(({ key, node: name }) => [key, name])).toEqual([
      ['a', undefined],
      ['node/a', 'a'],
    ])
  })
})

describe('marks of pods', () => {
  const hold = (value: string) => ({ annotations: { 'karpenter.sh/do-not-disrupt': value } })
  test.each<[string, Json, string | undefined]>([
    ['plain', {}, undefined],
    ['do-not-disrupt', hold('true'), 'h'],
    ['do-not-disrupt, unreadable', hold('perhaps'), undefined],
    ['terminating', { deletionTimestamp: created, ...hold('true') }, 't'],
    ['mirror', { ownerReferences: [{ kind: 'Node', apiVersion: 'v1' }] }, 'm'],
  ])('%s', (_, change, mark) => {
    const { pods } = onlyNode({ nodes: [node('n')], pods: [pod('p', { nodeName: 'n', ...change })] })
    expect(pods[0]?.[3]).toBe(mark)
  })

  test('end with their time', () => {
    const model = new ClusterModel()
    model.setNode('n', nodeFact(node('n')))
    const json = pod('p', { nodeName: 'n', ...hold('10m') })
    const started = { ...json, status: { phase: 'Running', startTime: new Date(now).toISOString() } }
    model.setPod('shop/p', podFact(started))
    expect(model.takeChange(now).nodes[0]?.pods[0]?.[3]).toBe('h')
    expect(model.isDirty(now + 599_000)).toBe(false)
    expect(model.isDirty(now + 600_000)).toBe(true)
    expect(model.takeChange(now + 600_000).nodes[0]?.pods[0]?.[3]).toBeUndefined()
  })
})

describe('pods that wait', () => {
  const found = (pods: readonly string[], count: number): WaitingClass => ({
    state: 'planned',
    pods,
    count,
    sinceMs: now,
    plannedOn: ['general-2'],
    finding: 'planned on general-2',
    funnel: [],
    remedies: [],
  })
  test("the planner's findings come before kube-scheduler's", () => {
    const { pending } = viewOf({ pods: [waitingPod('a', 'full')], waiting: [found(['shop/a'], 3)] })
    expect(pending.map(({ finding, count }) => [finding, count])).toEqual([['planned on general-2', 3]])
  })
  test('findings about pods that wait no longer are left out', () => {
    const { pending } = viewOf({ pods: [waitingPod('b', 'full')], waiting: [found(['shop/a'], 3)] })
    expect(pending.map(({ finding, count }) => [finding, count])).toEqual([['full', 1]])
  })
})

describe("a stranger's input", () => {
  test('amounts that are no quantities count as nothing', () => {
    const json = node('n')
    const broken = { ...json, status: { ...(json['status'] as Json), allocatable: { cpu: 'NaN', memory: '1e999x' } } }
    const view = viewOf({ nodes: [broken], pods: [pod('p', { nodeName: 'n', cpu: 'NaN' })] })
    expect(view.nodes[0]).toMatchObject({ allocatable: { cpu: 0 }, requested: { cpu: 0 }, isReady: true })
    expect(view.nodes[0]?.pods).toEqual([['shop/p', 0, 0]])
  })
  test('large annotations and messages are not kept', () => {
    const large = 'x'.repeat(10 ** 7)
    const annotations = { [large.slice(0, 100)]: large, 'joiner.sh/interrupted': large }
    const kept = [
      podFact({ ...waitingPod('p', large), metadata: meta('p', { namespace: 'shop', annotations }) }),
      claimFact(claim('a', { annotations, conditions: [{ type: 'Drained', status: 'False', message: large }] })),
      nodeFact({ ...node('n', { ready: 'Unknown' }), metadata: meta('n', { annotations }) }),
    ]
    expect(JSON.stringify(kept).length).toBeLessThan(4000)
  })
})
