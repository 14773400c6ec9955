import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sampleNode, samplePool, sampleTime } from '../test/samples/sample-objects.ts'
import { type AskedAdoption, adoptAfterMs, adoptedClaim, adoptionPlan, type LostVm } from './adoption.ts'
import type { NodePool } from './objects.ts'

const pool = samplePool('default')
const owner = (uid: string, name = 'a') => [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, uid }]
const labels = {
  'karpenter.sh/nodepool': 'default',
  'node.kubernetes.io/instance-type': 'D4',
  'topology.kubernetes.io/zone': 'westus2-1',
}
const nodeOf = (metadata: object = {}) => sampleNode('aks-a', { metadata: { labels, ...metadata } })

const none = { 'karpenter.sh/nodepool': undefined, 'karpenter.sh/registered': undefined } as never
const untold = nodeOf({ labels: none })

const lost = (change: Partial<LostVm> = {}): LostVm => ({
  name: 'aks-a',
  id: '/vms/aks-a',
  providerId: 'azure:///aks-a',
  claimName: 'a',
  claimUid: 'uid-a',
  nodePool: 'default',
  instanceType: 'D4',
  zone: 'westus2-1',
  capacityType: 'spot',
  isFailed: false,
  node: nodeOf(),
  sinceMs: sampleTime,
  ...change,
})
const poolOf = (name: string) => (name === 'default' ? pool : undefined)
const plan = (vms: readonly LostVm[], asked?: AskedAdoption, minutes = 60) =>
  adoptionPlan(vms, poolOf, { now: sampleTime + minutes * 60_000, asked })

const going = { deletionTimestamp: '2026-01-01T00:00:00Z' }

test.each<[string, Partial<LostVm>, string, RegExp?]>([
  ['as it was', {}, 'adopt'],
  ['with its owner', { node: nodeOf({ ownerReferences: owner('uid-a') }) }, 'adopt'],
  [
    'of Karpenter, without a UID',
    { claimUid: undefined as never, node: nodeOf({ ownerReferences: owner('x') }) },
    'adopt',
  ],
  ['whose Node is being deleted', { node: nodeOf(going) }, 'drain'],
  ['without labels on its Node', { node: nodeOf({ labels: {} }) }, 'adopt'],
  ['whose Node nothing ties to it', { node: untold }, 'left', /label node aks-a karpenter.sh\/nodepool=/],
  ['that Azure calls Failed', { isFailed: true }, 'left', /^Azure calls it Failed; az vm reapply --ids \/vms\/aks-a$/],
  ['without a NodePool', { nodePool: undefined as never }, 'left', /name no NodePool/],
  ['of another cluster', { foreign: 'has the tag x' }, 'left', /^VM has the tag x; .*az tag update/],
  ['whose name no NodeClaim can have', { claimName: 'A_b' }, 'left', /called "A_b"/],
  [
    'that another Node names',
    { node: sampleNode('rogue', { providerId: 'azure:///aks-a' }) },
    'left',
    /not its own Node/,
  ],
])('a VM %s', (_, change, kind, why = /^$/) => {
  const [verdict] = plan([lost(change)]).verdicts
  expect(verdict?.kind).toBe(kind)
  expect(verdict?.kind === 'left' ? `${verdict.why}; ${verdict.remedy}` : '').toMatch(why)
})

test.each<[string, Partial<LostVm>, string, string]>([
  ['another NodePool', { node: nodeOf({ labels: { ...labels, 'karpenter.sh/nodepool': 'x' } }) }, 'adopt', 'is "x"'],
  ['another zone', { zone: 'westus2-2' }, 'adopt', 'of the VM it is "westus2-2"'],
  ['another size', { instanceType: 'D8' }, 'adopt', 'of the VM it is "D8"'],
  ['another owner', { node: nodeOf({ ownerReferences: owner('uid-b') }) }, 'left', 'another NodeClaim as its owner'],
  ['an owner of another name', { node: nodeOf({ ownerReferences: owner('uid-a', 'b') }) }, 'left', 'another NodeClaim'],
  ['a NodePool that is gone', { nodePool: 'x' }, 'left', 'NodePool "x" does not exist'],
])('%s contradicts the tags', (_, change, kind, differs) => {
  const [verdict] = plan([lost(change)]).verdicts
  expect(verdict).toMatchObject({ kind, differs: expect.stringContaining(differs) })
})

describe('what is adopted by itself', () => {
  const odd = lost({ zone: 'westus2-2' })
  const names = ({ due }: ReturnType<typeof plan>) => due.map(({ claimName }) => claimName)

  test.each<[string, readonly LostVm[], number, number]>([
    ['nothing before ten minutes', [lost()], 9.99, 0],
    ['what has waited for ten minutes', [lost(), lost({ sinceMs: sampleTime + 1 })], 10, 1],
    ['all while no more than half contradict', [lost(), odd], 60, 2],
    ['nothing while more than half contradict', [lost(), odd, odd], 60, 0],
    ['a hundred at once', Array.from({ length: 120 }, () => lost()), 60, 100],
  ])('%s', (_, vms, minutes, count) => {
    const found = plan(vms, undefined, minutes)
    expect(found.due).toHaveLength(count)
    expect(found.doubt !== undefined).toBe(vms.length === 3)
  })

  test('what waits for the budgets of one NodePool holds up no other', () => {
    const leaving = (nodePool: string) => {
      const node = nodeOf({ ...going, labels: { ...labels, 'karpenter.sh/nodepool': nodePool } })
      return lost({ nodePool, claimName: nodePool, node })
    }
    const pools = (name: string) => samplePool(name)
    const vms = [
      ...Array.from({ length: 150 }, () => leaving('blocked')),
      leaving('other'),
      lost({ claimName: 'kept' }),
    ]
    const { due } = adoptionPlan(vms, pools, { now: sampleTime + adoptAfterMs })
    expect(due).toHaveLength(100)
    expect(due.slice(0, 3).map(({ claimName }) => claimName)).toEqual(['kept', 'blocked', 'other'])
  })

  test('an operator need not wait, nor be sure, and may name some', () => {
    const vms = [odd, lost({ name: 'aks-b', claimName: 'b' })]
    expect(names(plan([odd, odd], {}, 0))).toEqual(['a', 'a'])
    expect(names(plan(vms, { names: ['aks-b'] }, 0))).toEqual([])
    const [due] = plan([lost()], { names: ['aks-a'], end: true }, 0).due
    expect(due).toMatchObject({ claimName: 'a', claimUid: 'uid-a', isToEnd: true })
  })

  test('a Node that is being deleted, and the UID that only the Node knows, are told', () => {
    const { claimUid: _, ...karpenters } = lost({ node: nodeOf({ ...going, ownerReferences: owner('uid-k') }) })
    expect(plan([karpenters]).due).toEqual([
      {
        claimName: 'a',
        claimUid: 'uid-k',
        nodePool: 'default',
        instanceType: 'D4',
        zone: 'westus2-1',
        capacityType: 'spot',
        node: 'aks-a',
        isLeaving: true,
      },
    ])
  })

  const anyVm = fc
    .record({
      nodePool: fc.constantFrom('default', 'x'),
      zone: fc.constantFrom('westus2-1', 'westus2-2'),
      isFailed: fc.boolean(),
      ago: fc.integer({ min: 0, max: 20 }),
    })
    .map(({ ago, ...change }) => lost({ ...change, sinceMs: sampleTime - ago * 60_000 }))

  test('is never what stays, nor what is too new, and nothing in doubt', () => {
    fc.assert(
      fc.property(fc.array(anyVm, { maxLength: 8 }), (vms) => {
        const { due, doubt, verdicts } = adoptionPlan(vms, poolOf, { now: sampleTime, asked: undefined })
        const able = vms.filter(
          ({ sinceMs }, index) => verdicts[index]?.kind !== 'left' && sampleTime - sinceMs >= adoptAfterMs,
        )
        expect(due).toHaveLength(doubt === undefined ? able.length : 0)
        const differing = verdicts.filter(({ differs }) => differs !== undefined).length
        expect(doubt !== undefined).toBe(differing > vms.length / 2)
      }),
    )
  })
})

describe('the NodeClaim of a VM', () => {
  const [adoption] = plan([lost()]).due
  const requirements = [
    { key: 'node.kubernetes.io/instance-type', operator: 'In' as const, values: ['D8'] },
    { key: 'karpenter.azure.com/sku-family', operator: 'In' as const, values: ['E'] },
    { key: 'team', operator: 'In' as const, values: ['a', 'b'] },
  ]
  const made = (node = nodeOf()) => {
    const { spec } = pool.template
    const template: NodePool['template'] = {
      ...pool.template,
      labels: { tier: 'gold' },
      spec: { ...spec, requirements },
    }
    return adoptedClaim({ ...pool, template }, adoption as never, node)
  }
  const valuesOf = (found: ReturnType<typeof made>, key: string) =>
    found.requirements.filter((one) => one.key === key).map(({ values }) => values)

  test('has size, place and way of buying as they are, whatever the NodePool allows by now', () => {
    const found = made()
    expect(valuesOf(found, 'node.kubernetes.io/instance-type')).toEqual([['D4']])
    expect(valuesOf(found, 'topology.kubernetes.io/zone')).toEqual([['westus2-1']])
    expect(valuesOf(found, 'karpenter.sh/capacity-type')).toEqual([['spot']])
    expect(valuesOf(found, 'karpenter.azure.com/sku-family')).toEqual([])
    expect(found.labels).toMatchObject({ 'karpenter.sh/nodepool': 'default', tier: 'gold' })
  })

  test.each([
    ['a', 'a'],
    ['b', 'b'],
    ['c', 'a'],
  ])('has of the labels of its Node (team %s) what the template allows', (value, kept) => {
    const found = made(nodeOf({ labels: { ...labels, team: value, other: 'x' } }))
    expect(found.labels).toMatchObject({ team: kept })
    expect(found.labels).not.toHaveProperty('other')
  })
})
