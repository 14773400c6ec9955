import { expect, test } from 'vitest'
import type { Node } from '../../../deploy/local/real-nodes/fleet.ts'
import { differences } from './compare.ts'

const taint = { key: 'example.com/dedicated', value: 'web', effect: 'NoSchedule' } as const
const uninitialized = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
} as const

function node(change: Partial<Node['metadata'] & Node['spec'] & Node['status']> = {}): Node {
  const { labels = { team: 'web' }, taints = [taint], providerID = 'azure:///vm', ...status } = change
  return {
    metadata: { name: 'aks-web-1', uid: 'u', resourceVersion: '1', labels },
    spec: { providerID, taints },
    status: {
      capacity: { cpu: '2' },
      allocatable: { cpu: '1900m' },
      nodeInfo: { kubeletVersion: 'v1.36.3' },
      ...status,
    },
  }
}

const found = (registered: Node, now: Node = registered) =>
  differences({ registered, node: now }, node() as unknown as Parameters<typeof differences>[1])

test('a Node of a real kubelet that is as the simulator says differs in nothing', () => {
  expect(found(node())).toEqual([])
})

test('what differs for a reason that is known comes with the reason', () => {
  const registered = node({ taints: [taint, uninitialized] })
  expect(found(registered, node({ nodeInfo: { kubeletVersion: 'v1.36.3', kernelVersion: '6.18' } }))).toEqual([
    {
      field: 'nodeInfo kernelVersion',
      joined: '6.18',
      simulated: 'none',
      why: expect.stringContaining('this machine'),
    },
    {
      field: 'taint node.cloudprovider.kubernetes.io/uninitialized',
      joined: 'true:NoSchedule',
      simulated: 'none',
      why: expect.stringContaining('cloud-node-manager'),
    },
  ])
})

test.each<[string, Partial<Node['metadata'] & Node['spec'] & Node['status']>, readonly [string, string, string]]>([
  ['a label is another', { labels: { team: 'shop' } }, ['label team', 'shop', 'web']],
  ['a label is missing', { labels: {} }, ['label team', 'none', 'web']],
  ['a taint is missing', { taints: [] }, ['taint example.com/dedicated', 'none', 'web:NoSchedule']],
  ['there is less to allocate', { allocatable: { cpu: '1800m' } }, ['allocatable cpu', '1800m', '1900m']],
  ['the VM is another', { providerID: 'azure:///other' }, ['spec.providerID', 'azure:///other', 'azure:///vm']],
])('nobody knows why %s', (_, change, [field, joined, simulated]) => {
  expect(found(node(change))).toEqual([{ field, joined, simulated }])
})

test('taints are those with which it registered, everything else what AKS has made of it', () => {
  expect(found(node({ labels: {} }), node({ taints: [] }))).toEqual([])
})
