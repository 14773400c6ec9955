import { describe, expect, test } from 'vitest'
import { adviceAbout, agentNode, pod } from '../../../test/advise/agent-pool-cluster.ts'
import { htmlOf } from '../../document/html.ts'
import { plainText } from '../../document/text.ts'
import type { Json } from '../../files/cluster-objects.ts'
import { validateObject } from '../validate/validate-object.ts'
import { adviceDocument } from './text.ts'

describe('a cluster of agent pools', () => {
  const half = [agentNode('a'), agentNode('b'), pod('one', { node: 'a' }), pod('two', { node: 'b' })]

  test('saves what its pods on fewer and smaller nodes save', async () => {
    const { bill, pass, nodePools, scalers } = await adviceAbout(half)
    expect(bill).toMatchObject({
      perHour: 0.4,
      nodes: 2,
      unpriced: 0,
      pools: [{ kind: 'agent pool', name: 'user1', cpuRequested: 0.125 }],
    })
    expect(pass).toMatchObject({ nodesRemoved: 2, nodesAdded: 1, unpriced: [] })
    expect(pass?.savedPerHour).toBeCloseTo(0.3)
    expect(nodePools.map(({ name }) => name)).toEqual(['user1'])
    expect(scalers).toMatchObject([{ kind: 'none' }])
  })

  test('whose nodes have no known price saves nothing by them, and names them', async () => {
    const odd = agentNode('odd', { size: 'Standard_D4s_v9' })
    const { bill, pass } = await adviceAbout([odd])
    expect(bill.pools).toMatchObject([{ unpriced: ['odd'], perHour: 0 }])
    expect(pass).toMatchObject({ savedPerHour: 0, unpriced: ['odd'] })
  })

  test('plans with the NodeOverlays that its autoscaler counts', async () => {
    const cheap = (status: object) => ({
      apiVersion: 'karpenter.sh/v1alpha1',
      kind: 'NodeOverlay',
      metadata: { name: 'contract' },
      spec: {
        requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D4s_v5'] }],
        price: '0.01',
      },
      status,
    })
    const judged = await adviceAbout([...half, cheap({ conditions: [{ type: 'Ready', status: 'True' }] })])
    // One node of this size goes; a smaller one would cost more than the other.
    expect(judged.pass).toMatchObject({ nodesRemoved: 1, nodesAdded: 0 })
    const unseen = await adviceAbout([...half, cheap({})])
    expect(unseen.pass).toMatchObject({ nodesRemoved: 2, nodesAdded: 1 })
    expect(unseen.remarks).toContain(
      'NodeOverlays without conditions do not count: 1; the gate NodeOverlay of the autoscaler seems to be off',
    )
  })

  test('keeps its system pool', async () => {
    const { pass, nodePools } = await adviceAbout([agentNode('s', { pool: 'system', mode: 'system' })])
    expect([pass?.commands, nodePools]).toEqual([[], []])
  })

  test('keeps what Cluster Autoscaler is told to keep, and says what that costs', async () => {
    const unsafe = { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' }
    const disabled = { 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true' }
    const { pass, holders } = await adviceAbout([
      agentNode('a'),
      agentNode('b', { annotations: disabled }),
      pod('one', { node: 'a', annotations: unsafe }),
    ])
    expect(pass?.commands).toEqual([])
    expect(holders).toMatchObject([
      { kind: 'pod annotation', name: 'shop/one', nodes: 1, perHour: 0.2, alonePerHour: 0.2 },
      { kind: 'node annotation', firstNodes: ['b'], perHour: 0.2 },
    ])
  })

  test('names the PodDisruptionBudget that keeps most', async () => {
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'none', namespace: 'shop' },
      spec: { maxUnavailable: 0, selector: {} },
      status: { disruptionsAllowed: 0 },
    }
    const protectedOne = pod('safe', { node: 'a', annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })
    const { holders, pass } = await adviceAbout([...half, budget, protectedOne])
    expect(pass?.commands).toEqual([])
    expect(holders).toMatchObject([
      { kind: 'PodDisruptionBudget', name: 'shop/none', nodes: 2, perHour: 0.4, alonePerHour: 0.2 },
      {
        kind: 'pod annotation',
        annotation: 'karpenter.sh/do-not-disrupt',
        name: 'shop/safe',
        nodes: 1,
        alonePerHour: 0,
      },
    ])
  })

  test('says what would be done about pods that wait, and why nothing about others', async () => {
    const { waiting } = await adviceAbout([
      ...half,
      pod('fits'),
      pod('large', { cpu: '3800m' }),
      pod('huge', { cpu: '100' }),
    ])
    expect(waiting.map(({ outcome, pods }) => [outcome, pods])).toEqual([
      ['unschedulable', ['shop/huge']],
      ['new node', ['shop/large']],
      ['existing node', ['shop/fits']],
    ])
    expect(waiting[0]?.funnel.join('\n')).toMatch(/NodePool user1: 2 types; left after requirements 2, resources 0/)
  })

  test('that has no rights for pods and nodes has no plan', async () => {
    const { pass, unread, holders } = await adviceAbout([], {
      isPlannable: false,
      unread: ['pods: you may not list them'],
    })
    expect([pass, holders, unread]).toEqual([undefined, [], ['pods: you may not list them']])
  })
})

test('NodePools that are proposed have what the agent pool has, and are valid', async () => {
  const spot = {
    'kubernetes.azure.com/scalesetpriority': 'spot',
    'kubernetes.azure.com/os-sku': 'AzureLinux',
    team: 'blue',
  }
  const taints = [
    { key: 'kubernetes.azure.com/scalesetpriority', value: 'spot', effect: 'NoSchedule' },
    { key: 'dedicated', value: 'batch', effect: 'NoExecute' },
    { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
  ]
  const status =
    'nodeGroups:\n- name: aks-user1-12345678-vmss\n  health:\n    minSize: 2\n    maxSize: 5\n- name: aks-other-1-vmss\n'
  const { nodePools, scalers } = await adviceAbout(
    [
      agentNode('a', { labels: { ...spot, only: 'a' }, taints }),
      agentNode('b', { labels: { ...spot, 'topology.kubernetes.io/zone': 'westus2-3' }, taints: taints.slice(0, 2) }),
    ],
    { autoscalerStatus: status },
  )
  expect(scalers).toMatchObject([{ kind: 'Cluster Autoscaler' }])
  const [proposal] = nodePools
  expect(proposal?.nodePool).toMatchObject({
    metadata: { name: 'user1' },
    spec: {
      template: {
        metadata: { labels: { team: 'blue' } },
        spec: {
          requirements: [
            { key: 'kubernetes.io/os', values: ['linux'] },
            { key: 'kubernetes.io/arch', values: ['amd64'] },
            { key: 'karpenter.sh/capacity-type', values: ['spot'] },
            { key: 'karpenter.azure.com/sku-family', values: ['D'] },
            { key: 'topology.kubernetes.io/zone', values: ['westus2-1', 'westus2-3'] },
          ],
          taints: taints.slice(0, 2),
        },
      },
      limits: { cpu: '20', memory: '80Gi' },
    },
  })
  expect(proposal?.nodeClass).toMatchObject({ spec: { imageFamily: 'AzureLinux', maxPods: 110, osDiskSizeGB: 128 } })
  expect(proposal?.notes).toContain('the agent pool keeps at least 2; a NodePool has no minimum')
  for (const object of [proposal?.nodePool, proposal?.nodeClass])
    expect(validateObject(object as Json)).toMatchObject({ kind: 'checked', errors: [] })
})

test('names that are hostile reach neither a terminal nor a page as what they are', async () => {
  const evil = '<script>alert(1)</script>\u001b[2J\u202e'
  const advice = await adviceAbout(
    [agentNode('a', { pool: evil }), pod(evil, { node: 'a' }), pod(`${evil}2`, { cpu: '100' })],
    {
      server: evil,
      unread: [evil],
    },
  )
  const page = htmlOf(adviceDocument(advice, { all: true, isPage: true }))
  for (const text of [plainText(adviceDocument(advice, { all: true, isPage: false })), page])
    expect(['\u001b', '\u202e'].filter((sign) => text.includes(sign))).toEqual([])
  expect(page).not.toContain('<script')
  expect(page).toContain('&lt;script&gt;')
  expect(page).not.toMatch(/(src|href)=/)
})
