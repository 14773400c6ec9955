import { effect } from '@preact/signals'
import { beforeEach, describe, expect, it } from 'vitest'
import type { ClusterView, NodeView } from '../../contract.ts'
import { nodeOf, pools, summary, takeChange, takeCluster } from './cluster.ts'

const amounts = { cpu: 1, memory: 1 }
const node = (key: string, more: Partial<NodeView> = {}): NodeView => ({
  key,
  phase: 'Ready',
  createdMs: 0,
  isReady: true,
  isCordoned: false,
  allocatable: { ...amounts, pods: 1 },
  requested: amounts,
  pods: [],
  ...more,
})
const rest: Omit<ClusterView, 'nodes'> = {
  atMs: 1,
  totals: {
    nodes: 0,
    pods: 0,
    pending: 0,
    pricePerHour: 0,
    unpriced: 0,
    phases: {},
    allocatable: amounts,
    requested: amounts,
  },
  pools: [],
  pending: [],
  missing: [],
  damaged: [],
  unlisted: [],
}
const take = (...nodes: readonly NodeView[]) => takeCluster({ ...rest, nodes })

beforeEach(() => take())

describe('takeChange', () => {
  it('draws again the changed node alone', () => {
    take(node('a'), node('b'))
    const drawn: string[] = []
    const stop = [
      effect(() => void drawn.push(`a ${nodeOf('a')?.value.pods.length}`)),
      effect(() => void drawn.push(`b ${nodeOf('b')?.value.pods.length}`)),
      effect(() => void drawn.push(`pools ${pools.value.length}`)),
    ]
    drawn.length = 0
    takeChange({ ...rest, atMs: 2, nodes: [node('b', { pods: [['x/y', 1, 1]] })], gone: [] })
    expect(drawn).toEqual(['b 1'])
    expect(summary.value?.atMs).toBe(2)
    for (const each of stop) each()
  })

  it('lists nodes by NodePool and age, those of nobody last', () => {
    take(node('c'), node('b', { nodePool: 'p', createdMs: 2 }), node('a', { nodePool: 'p', createdMs: 3 }))
    takeChange({ ...rest, nodes: [node('d', { nodePool: 'o' })], gone: ['a'] })
    expect(pools.value).toEqual([
      { name: 'o', keys: ['d'] },
      { name: 'p', keys: ['b'] },
      { name: '', keys: ['c'] },
    ])
  })

  it('moves a node that gets its NodePool later', () => {
    take(node('a'))
    takeChange({ ...rest, nodes: [node('a', { nodePool: 'p' })], gone: [] })
    expect(pools.value).toEqual([{ name: 'p', keys: ['a'] }])
  })
})

it('forgets what a whole view no longer has', () => {
  take(node('a'), node('b'))
  take(node('b'))
  expect([nodeOf('a'), nodeOf('b')?.value.key]).toEqual([undefined, 'b'])
})
