import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleCondition, sampleNode, samplePool } from '../../test/samples/sample-objects.ts'
import type { Node, NodeClaim } from '../objects.ts'
import { formatResources, parseResources } from '../resources.ts'
import { countPatch, poolResources, resourcesByPool } from './resources.ts'

const later = '2026-01-02T00:00:00Z'

const shown = (nodes: readonly Node[], claims: readonly NodeClaim[]) => {
  const counted = resourcesByPool(nodes, claims).get('default')
  return counted === undefined ? undefined : formatResources(counted)
}

const one = { cpu: '4', memory: '16Gi', pods: '110', nodes: '1' }

describe('resourcesByPool', () => {
  it.each<[string, readonly Node[], readonly NodeClaim[], Record<string, string> | undefined]>([
    ['nothing', [], [], undefined],
    ['a claim that was launched', [], [sampleClaim('a')], one],
    ['one that was not', [], [sampleClaim('a', { status: { capacity: {}, providerId: '' } })], undefined],
    ['a node and its claim are one', [sampleNode('a')], [sampleClaim('a')], one],
    [
      'a provider id in another case is the same',
      [sampleNode('a', { providerId: 'AZURE:///a' })],
      [sampleClaim('a')],
      one,
    ],
    [
      'an initialized node counts as what it reports',
      [sampleNode('a', { allocatable: { cpu: 3, memory: '15Gi', pods: 50 } })],
      [sampleClaim('a')],
      { cpu: '3', memory: '15Gi', pods: '50', nodes: '1' },
    ],
    [
      'before that, as what it reports, completed by its claim',
      [sampleNode('a', { allocatable: { cpu: 3, memory: 0 } })],
      [sampleClaim('a', { status: { conditions: [sampleCondition('Registered')] } })],
      { cpu: '3', memory: '16Gi', pods: '110', nodes: '1' },
    ],
    [
      'two nodes',
      [sampleNode('a'), sampleNode('b')],
      [sampleClaim('a'), sampleClaim('b')],
      { cpu: '8', memory: '32Gi', pods: '220', nodes: '2' },
    ],
    [
      'one that is being deleted',
      [sampleNode('a')],
      [sampleClaim('a', { metadata: { labels: { 'karpenter.sh/nodepool': 'default' }, deletionTimestamp: later } })],
      undefined,
    ],
    [
      'one under disruption',
      [sampleNode('a')],
      [sampleClaim('a', { metadata: { annotations: { 'joiner.sh/disruption-command': 'x' } } })],
      undefined,
    ],
    [
      'one whose VM goes',
      [sampleNode('a')],
      [sampleClaim('a', { status: { conditions: [sampleCondition('InstanceTerminating')] } })],
      undefined,
    ],
    ['a Node of the pool without a claim', [sampleNode('a')], [], one],
    [
      'a Node that is being deleted, with a claim that is not',
      [sampleNode('a', { metadata: { deletionTimestamp: later } })],
      [sampleClaim('a')],
      one,
    ],
    [
      'a node whose kubelet says that it is of another pool, and not registered',
      [sampleNode('a', { metadata: { labels: { 'karpenter.sh/nodepool': 'other', 'karpenter.sh/registered': '' } } })],
      [sampleClaim('a')],
      one,
    ],
    [
      'a Node that has the provider id of another',
      [sampleNode('a'), sampleNode('rogue', { providerId: 'azure:///a' })],
      [sampleClaim('a')],
      one,
    ],
    ['another pool', [sampleNode('a', { metadata: { labels: { 'karpenter.sh/nodepool': 'other' } } })], [], undefined],
  ])('%s', (_, nodes, claims, resources) => {
    expect(shown(nodes, claims)).toEqual(resources)
  })
})

describe('countPatch', () => {
  const empty = { cpu: '0', 'ephemeral-storage': '0', memory: '0', nodes: '0', pods: '0' }
  const counted = parseResources({ cpu: '8', memory: '32Gi', nodes: 2, pods: 220 })

  it('a pool without nodes has none of everything', () => {
    expect(countPatch(samplePool(), undefined)).toEqual({ nodes: 0, resources: empty })
  })

  it('writes changed resources, and removes missing ones', () => {
    const before = samplePool('default', { resources: parseResources({ ...empty, 'nvidia.com/gpu': 1 }), nodes: 0 })
    expect(countPatch(before, counted)).toEqual({
      nodes: 2,
      resources: { ...empty, cpu: '8', memory: '32Gi', nodes: '2', pods: '220', 'nvidia.com/gpu': null },
    })
  })

  it('writes nothing for the same amounts, however they are written', () => {
    const resources = parseResources({ ...empty, cpu: '8000m', memory: '33554432Ki', nodes: '2', pods: '220' })
    expect(countPatch(samplePool('default', { resources, nodes: 2 }), counted)).toBeUndefined()
    expect(countPatch(samplePool('default', { resources, nodes: 1 }), counted)?.nodes).toBe(2)
    expect(countPatch(samplePool('default', { resources: poolResources(counted), nodes: 2 }), counted)).toBeUndefined()
  })
})
