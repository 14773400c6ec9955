import { describe, expect, it } from 'vitest'
import { sampleNode, samplePod, samplePool, sampleType } from '../../test/samples/sample-objects.ts'
import type { Pod } from '../objects.ts'
import { formatResources, parseResources } from '../resources.ts'
import { settled } from './settled.ts'
import type { SchedulableNode, SchedulingSnapshot } from './snapshot.ts'
import { schedulableNodes } from './state-nodes.ts'
import { type Removal, WhatIf } from './what-if.ts'

const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name)
const on = (nodeName: string, ...list: readonly string[]) =>
  list.map((name) => samplePod(name, { nodeName, phase: 'Running', requests: { cpu: 1, memory: '1Gi' } }))
const room = (pods: number) => ({ cpu: 4, memory: '8Gi', pods })

/** Two pods on `a`, one on `b`, where there is room for one more; `c` is full. */
const running = new Map([
  ['a', on('a', 'a-1', 'a-2')],
  ['b', on('b', 'b-1')],
  ['c', on('c', 'c-1')],
])
const stateNodes = [
  sampleNode('a', { allocatable: room(2) }),
  sampleNode('b', { allocatable: room(2) }),
  sampleNode('c', { allocatable: room(1) }),
]
const snapshot: SchedulingSnapshot = {
  pods: [],
  nodes: schedulableNodes({ nodes: stateNodes, nodeClaims: [], podsByNode: running, daemonSets: [] }),
  nodePools: [
    {
      nodePool: samplePool('default', { limits: { nodes: 4 } }),
      instanceTypes: [sampleType('small', 2), sampleType('large', 8)],
      usage: parseResources({ cpu: 12, memory: '24Gi', pods: 5, nodes: 3 }),
    },
  ],
  daemonSets: [],
}

const place = ({ nodes }: SchedulingSnapshot, name: string) =>
  nodes.find((node) => node.name === name) as SchedulableNode
const removalOf = (where: SchedulingSnapshot, name: string): Removal => ({
  place: place(where, name),
  moving: place(where, name).pods,
})

describe('a snapshot after a decision', () => {
  const removed = [removalOf(snapshot, 'a')]
  const plan = new WhatIf(snapshot).without(removed)
  const after = settled(snapshot, removed, plan)

  it('has pods where the plan put them, and the nodes that go are no places', () => {
    expect(plan.existing.map(({ node, pods }) => [node, names(pods)])).toEqual([['b', ['a-1']]])
    expect(plan.newNodeClaims.map(({ pods }) => names(pods))).toEqual([['a-2']])
    expect(after.pods).toEqual([])
    expect(after.occupied?.map(({ facts, pods }) => [facts.name, pods])).toEqual([['a', []]])
    expect(after.nodes.map(({ name, pods }) => [name, names(pods)])).toEqual([
      ['b', ['b-1', 'a-1']],
      ['c', ['c-1']],
      ['planned-uid-a-2', ['a-2']],
    ])
    expect(formatResources(place(after, 'b').available)).toEqual({ cpu: '2', memory: '6Gi', pods: '0' })
  })

  it('has new claims as in-flight nodes, which count for limits and have no room for others', () => {
    const planned = place(after, 'planned-uid-a-2')
    expect(planned).toMatchObject({ nodePool: 'default', initialized: false, available: {} })
    expect(planned.labels['node.kubernetes.io/instance-type']).toBeUndefined()
    expect(formatResources(planned.capacity)).toEqual({ cpu: '1', memory: '1Gi', pods: '1' })
    expect(formatResources(after.nodePools[0]?.usage ?? {})).toMatchObject({ nodes: '3', cpu: '9' })
  })

  it('is the input of the next simulation', () => {
    const next = new WhatIf(after)
    const { existing, newNodeClaims } = next.without([removalOf(after, 'b')])
    expect(existing).toEqual([])
    expect(newNodeClaims.flatMap(({ pods }) => names(pods)).sort()).toEqual(['a-1', 'b-1'])
    const both = [removalOf(after, 'b'), removalOf(after, 'c')]
    const twice = settled(after, both, next.without(both))
    expect(twice.nodes.flatMap(({ pods }) => names(pods)).sort()).toEqual(['a-1', 'a-2', 'b-1', 'c-1'])
    expect(new Set(twice.nodes.map(({ name }) => name)).size).toBe(twice.nodes.length)
  })

  it('still has the pods that found no place', () => {
    const full = { ...snapshot, nodePools: [] }
    const left = settled(full, removed, new WhatIf(full).without(removed))
    expect(names(left.pods)).toEqual(['a-1', 'a-2'])
  })
})
