import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleNode } from '../../test/samples/sample-objects.ts'
import type { Node, NodeClaim } from '../objects.ts'
import { formatResources, parseResources } from '../resources.ts'
import { resourcesByPool } from './resources.ts'

// Names say which tests of upstream's suite state, NodePool Resources, they answer to.
const size = (cpu: number) => parseResources({ cpu, memory: `${cpu}Gi`, 'ephemeral-storage': `${cpu}Gi` })
const claim = (name: string, cpu = 2, pool = 'default', change: Parameters<typeof sampleClaim>[1] = {}) =>
  sampleClaim(name, {
    ...change,
    metadata: { labels: { 'karpenter.sh/nodepool': pool }, ...change.metadata },
    status: { capacity: size(cpu), ...change.status },
  })
const node = (name: string, cpu = 2, pool = 'default', change: Partial<Node> = {}): Node => ({
  ...sampleNode(name, { metadata: { labels: { 'karpenter.sh/nodepool': pool } } }),
  capacity: size(cpu),
  ...change,
})
const cpuOf = (nodes: readonly Node[], claims: readonly NodeClaim[], pool = 'default') => {
  const counted = resourcesByPool(nodes, claims).get(pool)
  return counted === undefined ? undefined : formatResources(counted)['cpu']
}
const terminating = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }
const marked = { metadata: { annotations: { 'joiner.sh/disruption-command': 'x' } } }

describe('upstream state, NodePool Resources', () => {
  it('several NodePools are counted apart, and what is left of each after a deletion', () => {
    const pools = ['one', 'two', 'three']
    const names = pools.flatMap((pool, at) =>
      ['a', 'b', 'c'].map((name) => ({ pool, name: `${pool}-${name}`, cpu: 2 * (at + 1) })),
    )
    const of = (left: typeof names) =>
      pools.map((pool) =>
        cpuOf(
          left.map(({ name, cpu, pool: own }) => node(name, cpu, own)),
          left.map(({ name, cpu, pool: own }) => claim(name, cpu, own)),
          pool,
        ),
      )
    expect(of(names)).toEqual(['6', '12', '18'])
    expect(of(names.filter(({ name }) => !name.endsWith('-a')))).toEqual(['4', '8', '12'])
    expect(of([])).toEqual([undefined, undefined, undefined])
  })

  it('a registered Node whose NodePool label changes counts for the new one', () => {
    const before = [[node('a')], [claim('a')]] as const
    const after = [[node('a', 2, 'new')], [claim('a', 2, 'new')]] as const
    expect([cpuOf(...before), cpuOf(...before, 'new')]).toEqual(['2', undefined])
    expect([cpuOf(...after), cpuOf(...after, 'new')]).toEqual([undefined, '2'])
  })

  it('Node and NodeClaim count as two while their provider ids differ', () => {
    const moved = claim('a', 2, 'default', { status: { providerId: 'azure:///b' } })
    expect(cpuOf([node('a')], [moved])).toBe('4')
    expect(cpuOf([node('a', 2, 'default', { providerId: 'azure:///b' })], [moved])).toBe('2')
  })

  it('when the Node is gone its NodeClaim counts, and the other way round', () => {
    expect(cpuOf([node('a', 1)], [claim('a', 2)])).toBe('1')
    expect(cpuOf([], [claim('a', 2)])).toBe('2')
    expect(cpuOf([node('a', 1)], [])).toBe('1')
  })

  it('what is being deleted, or marked for it, does not count; what is not marked any more does', () => {
    expect(cpuOf([node('a')], [claim('a', 2, 'default', terminating)])).toBeUndefined()
    expect(cpuOf([node('a')], [claim('a', 2, 'default', marked)])).toBeUndefined()
    expect(cpuOf([node('a')], [claim('a')])).toBe('2')
  })

  it('what is marked and then deleted, step by step, is subtracted once', () => {
    const other = [node('b'), claim('b')] as const
    const going = { metadata: { ...marked.metadata, ...terminating.metadata } }
    const dying = { ...node('a'), metadata: { ...node('a').metadata, ...terminating.metadata } }
    expect(cpuOf([node('a'), other[0]], [claim('a', 2, 'default', marked), other[1]])).toBe('2')
    expect(cpuOf([node('a'), other[0]], [claim('a', 2, 'default', going), other[1]])).toBe('2')
    expect(cpuOf([dying, other[0]], [claim('a', 2, 'default', going), other[1]])).toBe('2')
    expect(cpuOf([dying, other[0]], [other[1]])).toBe('2')
    expect(cpuOf([other[0]], [other[1]])).toBe('2')
  })
})
