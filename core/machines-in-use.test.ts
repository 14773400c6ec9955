import { describe, expect, it, test } from 'vitest'
import { sampleNode, samplePod } from '../test/samples/sample-objects.ts'
import { heldNodeText, holdersOf, keepsVm, namesVm, type PodCounts, useOf } from './machines-in-use.ts'
import { isOwnNodeOfVm } from './node-claim/node-owner.ts'
import type { ObjectMeta } from './objects.ts'

const now = 10_000_000_000
const ready = (name: string) => ({ name, isReady: true })
const silent = (name: string) => ({ name, isReady: false })
const counted = (pods: PodCounts['pods'], ageMs = 0): PodCounts => ({ atMs: now - ageMs, pods })

describe('what keeps a VM without a NodeClaim', () => {
  it.each<[string, Parameters<typeof useOf>[0], PodCounts | undefined, ReturnType<typeof useOf>]>([
    ['no Node: nothing', [], undefined, undefined],
    ['a silent Node: nothing, whatever runs there', [silent('a')], counted({ a: 3 }), undefined],
    ['a Ready Node with pods', [ready('a')], counted({ a: 3 }), { node: 'a', pods: 3 }],
    ['a Ready Node without pods: nothing', [ready('a')], counted({ a: 0 }), undefined],
    ['a Ready Node nobody was asked about', [ready('a')], undefined, { node: 'a' }],
    ['a Ready Node that is not in the answer', [ready('a')], counted({ b: 0 }), { node: 'a' }],
    ['a Ready Node with the name of a method', [ready('constructor')], counted({}), { node: 'constructor' }],
    ['a Ready Node, and an answer of long ago', [ready('a')], counted({ a: 0 }, 121_000), { node: 'a' }],
    ['a Ready Node, and an answer of a clock far ahead', [ready('a')], counted({ a: 0 }, -121_000), { node: 'a' }],
    ['a Ready Node, and an answer of before', [ready('a')], counted({ a: 0 }, 119_000), undefined],
    ['a second Node, beside an empty one', [ready('a'), ready('b')], counted({ a: 0 }), { node: 'b' }],
    ['the one with pods, if several', [ready('a'), ready('b')], counted({ b: 1 }), { node: 'b', pods: 1 }],
  ])('%s', (_, nodes, counts, use) => {
    expect(useOf(nodes, counts, now)).toEqual(use)
  })
})

describe('a Node and a VM', () => {
  const vm = { name: 'AKS-a', providerId: 'azure:///VMs/aks-a' }

  it.each<[string, Parameters<typeof sampleNode>[1] & { readonly name?: string }, boolean, boolean]>([
    ['of its name and id', {}, true, true],
    ['of its id in other letters', { providerId: 'AZURE:///vms/AKS-A' }, true, true],
    ['of its id and another name', { name: 'rogue' }, true, false],
    ['of its name and another id', { providerId: 'azure:///VMs/aks-b' }, false, false],
    ['of its name, whose id is not set yet', { providerId: '' }, true, false],
    ['of another name, whose id is not set yet', { name: 'rogue', providerId: '' }, false, false],
  ])('%s', (_, { name = 'aks-a', ...change }, isNamed, isOwn) => {
    const node = sampleNode(name, { providerId: 'azure:///VMs/aks-a', ...change })
    expect([namesVm(node, vm), isOwnNodeOfVm(node, vm)]).toEqual([isNamed, isOwn])
  })
})

describe('a pod keeps its VM', () => {
  const ownedBy = (kind: string, apiVersion: string) => ({
    metadata: { ownerReferences: [{ apiVersion, kind, name: 'x', uid: 'x' }] },
  })

  it.each<[string, Parameters<typeof samplePod>[1], boolean]>([
    ['of a ReplicaSet', ownedBy('ReplicaSet', 'apps/v1'), true],
    ['of nobody', {}, true],
    ['that is about to start', { phase: 'Pending' }, true],
    ['that is ending', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }, true],
    ['of a DaemonSet', ownedBy('DaemonSet', 'apps/v1'), false],
    ['of another kind of DaemonSet', ownedBy('DaemonSet', 'apps.example.com/v1'), true],
    ['of the kubelet', ownedBy('Node', 'v1'), false],
    ['that succeeded', { phase: 'Succeeded' }, false],
    ['that failed', { phase: 'Failed' }, false],
  ])('%s: %s', (_, change, keeps) => {
    expect(keepsVm(samplePod('p', change))).toBe(keeps)
  })
})

test.each<[string, Partial<ObjectMeta>, number]>([
  ['that Joiner has let go', {}, 1],
  ['that Joiner holds', { finalizers: ['example.com/x', 'karpenter.sh/termination'] }, 0],
  ['that is not being deleted', { deletionTimestamp: undefined as never }, 0],
  ['of an agent pool', { labels: {} }, 0],
])('finalizers of others hold a Node %s: %#', (_, change, count) => {
  const finalizers = ['example.com/x']
  const { metadata } = sampleNode('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers } })
  expect(holdersOf({ ...sampleNode('a'), metadata: { ...metadata, ...change } })).toHaveLength(count)
})

test('thousands of finalizers make no long message', () => {
  const finalizers = Array.from({ length: 5000 }, (_, at) => `example.com/${at}`)
  const text = heldNodeText(sampleNode('a', { metadata: { finalizers } }))
  expect(text).toContain('example.com/0, example.com/1')
  expect(text.length).toBeLessThan(600)
})
