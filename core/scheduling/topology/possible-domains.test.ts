import { describe, expect, it } from 'vitest'
import { sampleNode, samplePod, samplePool, sampleType } from '../../../test/samples/sample-objects.ts'
import { schedule } from '../../../test/samples/schedule.ts'
import type { Node, NodePool, Pod, RequirementSpec, Taint, TopologySpreadConstraint } from '../../objects.ts'
import { labels, wellKnownLabels } from '../../requirements/labels.ts'
import { SolverMemory } from '../solver/memory.ts'
import { schedulableNodes } from '../state-nodes.ts'

const { zone, hostname, capacityType, nodePool: poolKey } = labels
const rack = 'example.com/rack'
const team = 'example.com/team'
const types = [sampleType('type', 16)]
const dedicated: Taint = { key: 'dedicated', value: 'x', effect: 'NoSchedule' }

const isOneOf = (key: string, ...values: readonly string[]): RequirementSpec => ({ key, operator: 'In', values })
const pool = (name: string, own: Readonly<Record<string, string>>, ...requirements: readonly RequirementSpec[]) =>
  samplePool(name, { labels: own, spec: { requirements } })
const tainted = (one: NodePool): NodePool => ({
  ...one,
  template: { ...one.template, spec: { ...one.template.spec, taints: [dedicated] } },
})
const over = (topologyKey: string, change: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: { matchLabels: { app: 'web' } },
  ...change,
})
const anyOf = (...terms: readonly (readonly RequirementSpec[])[]): Partial<Pod> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
      },
    },
  },
})
const web = (count: number, change: Partial<Omit<Pod, 'kind' | 'metadata' | 'requests'>>, name = 'web') =>
  Array.from({ length: count }, (_, at) =>
    samplePod(`${name}-${at}`, { metadata: { labels: { app: 'web' } }, ...change }),
  )
const full = (name: string, own: Readonly<Record<string, string>>) =>
  sampleNode(name, { metadata: { labels: own }, allocatable: { cpu: 0, memory: 0, pods: 0 } })

interface Cluster {
  readonly pools: readonly NodePool[]
  readonly pods: readonly Pod[]
  readonly nodes?: readonly Node[]
}

function planOf({ pools, pods, nodes = [] }: Cluster, memory?: SolverMemory) {
  const nodePools = pools.map((nodePool) => ({ nodePool, instanceTypes: types, usage: {} }))
  const places = schedulableNodes({ nodes, nodeClaims: [], podsByNode: new Map(), daemonSets: [] })
  return schedule({ pods, nodes: places, nodePools, daemonSets: [] }, {}, memory)
}

/** Returns the number of pods by the domain of their new nodes. */
function spreadOf(key: string, cluster: Cluster): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { requirements, pods } of planOf(cluster).newNodeClaims) {
    const domain = requirements.find((one) => one.key === key)?.values?.join() ?? ''
    counts[domain] = (counts[domain] ?? 0) + pods.length
  }
  return counts
}

const two = pool('two', { [team]: 'foo' }, isOneOf(zone, 'zone-1', 'zone-2'))
const three = pool('three', { [team]: 'bar' })
const foo = { nodeSelector: { [team]: 'foo' } }
const shared = pool('shared', {}, { key: team, operator: 'Exists' })

describe('domains without a node', () => {
  const zones = { topologySpreadConstraints: [over(zone)] }
  const racks = { topologySpreadConstraints: [over(rack)] }
  const ofTeam = (key: string, name: string, ...values: readonly string[]) =>
    pool(`${key.replace(/.*\//, '')}-${name}`, { [team]: name }, isOneOf(key, ...values))

  it.each<[string, string, Cluster, Readonly<Record<string, number>>]>([
    [
      'not zones of a pool that the selector leaves out',
      zone,
      { pools: [two, three], pods: web(4, { ...foo, ...zones }) },
      { 'zone-1': 2, 'zone-2': 2 },
    ],
    [
      'nor its values of another key',
      rack,
      { pools: [ofTeam(rack, 'foo', '1'), ofTeam(rack, 'bar', '2', '3')], pods: web(3, { ...foo, ...racks }) },
      { '1': 3 },
    ],
    [
      'nor its capacity types',
      capacityType,
      {
        pools: [ofTeam(capacityType, 'foo', 'spot'), three],
        pods: web(3, { ...foo, topologySpreadConstraints: [over(capacityType)] }),
      },
      { spot: 3 },
    ],
    [
      'zones of each required term',
      zone,
      {
        pools: [two, three],
        pods: web(4, {
          ...anyOf([isOneOf(zone, 'zone-1')], [isOneOf(zone, 'zone-2'), isOneOf(team, 'bar')]),
          ...zones,
        }),
      },
      { 'zone-1': 2, 'zone-2': 2 },
    ],
    [
      'not a zone that no type is in',
      zone,
      { pools: [pool('wide', {}, isOneOf(zone, 'zone-1', 'zone-2', 'zone-9'))], pods: web(4, zones) },
      { 'zone-1': 2, 'zone-2': 2 },
    ],
    [
      'zones of a pool whose taints the pod does not tolerate, which the default policy ignores',
      zone,
      { pools: [two, tainted(three)], pods: web(4, zones) },
      { 'zone-1': 1, 'zone-2': 1 },
    ],
    [
      'but not if its policy honors taints',
      zone,
      {
        pools: [two, tainted(three)],
        pods: web(4, { topologySpreadConstraints: [over(zone, { nodeTaintsPolicy: 'Honor' })] }),
      },
      { 'zone-1': 2, 'zone-2': 2 },
    ],
    [
      'zones of a pool that the selector leaves out, if the policy ignores that',
      zone,
      {
        pools: [two, three],
        pods: web(4, { ...foo, topologySpreadConstraints: [over(zone, { nodeAffinityPolicy: 'Ignore' })] }),
      },
      { 'zone-1': 1, 'zone-2': 1 },
    ],
    [
      'not those that lack another key of the pod',
      zone,
      {
        pools: [pool('racks', {}, isOneOf(zone, 'zone-1'), isOneOf(rack, 'r1', 'r2')), three],
        pods: web(4, { topologySpreadConstraints: [over(zone), over(rack)] }),
      },
      { 'zone-1': 4 },
    ],
  ])('count %s', (_, key, cluster, expected) => {
    expect(spreadOf(key, cluster)).toEqual(expected)
  })

  it.each<[string, NodePool, Partial<Pod>]>([
    ['by its name', two, { nodeSelector: { [poolKey]: 'two' } }],
    ['by its class', two, { nodeSelector: { ...foo.nodeSelector, [labels.nodeClass]: 'default' } }],
    ['with taints', tainted(two), { ...foo, tolerations: [{ key: 'dedicated', operator: 'Exists' }] }],
  ])('are enough for minDomains, when a pool without nodes is selected %s', (_, own, selected) => {
    const spread = [over(zone, { minDomains: 2 }), over(hostname)]
    const pods = web(3, { ...selected, topologySpreadConstraints: spread })
    expect(spreadOf(zone, { pools: [own, three], pods })).toEqual({ 'zone-1': 2, 'zone-2': 1 })
    const more = web(4, { ...selected, topologySpreadConstraints: [over(zone, { minDomains: 3 })] })
    expect(spreadOf(zone, { pools: [own, three], pods: more })).toEqual({ 'zone-1': 1, 'zone-2': 1 })
  })

  it('are made by pools that leave labels open', () => {
    const spread = { ...foo, ...zones }
    expect(spreadOf(zone, { pools: [shared], pods: web(6, spread) })).toEqual({ 'zone-1': 2, 'zone-2': 2, 'zone-3': 2 })
    const open = pool('open', { [team]: 'foo' }, { key: rack, operator: 'NotIn', values: ['r3'] })
    const named = pool('named', { [team]: 'bar' }, isOneOf(rack, 'r1', 'r2', 'r3'))
    expect(spreadOf(rack, { pools: [open, named], pods: web(4, { ...foo, ...racks }) })).toEqual({ r1: 2, r2: 2 })
    const own = web(4, { ...anyOf([isOneOf(rack, 'r8', 'r9')]), ...racks })
    expect(spreadOf(rack, { pools: [open], pods: own })).toEqual({ r8: 2, r9: 2 })
  })

  it('are of no interest to a spread over hostnames', () => {
    const pods = web(3, { ...foo, topologySpreadConstraints: [over(hostname)] })
    expect(planOf({ pools: [two, three], pods }).newNodeClaims).toHaveLength(3)
    const there = web(1, { nodeSelector: { [hostname]: 'node-7' }, ...zones })
    expect(planOf({ pools: [two], pods: there }).unschedulable).toHaveLength(1)
  })

  it('are looked up once for pods that ask alike, and cost little for pools that they cannot use', () => {
    const sizeWith = (others: number) => {
      const memory = new SolverMemory()
      const sets = memory.setsFor(wellKnownLabels)
      const more = Array.from({ length: others }, (_, at) => pool(`other-${at}`, { [team]: `other-${at}` }))
      const cluster = { pools: [two, ...more], pods: web(50, { ...foo, ...zones }) }
      planOf(cluster, memory)
      const before = sets.size
      planOf(cluster, memory)
      return [before, sets.size - before] as const
    }
    const [few, fewMore] = sizeWith(10)
    const [many, manyMore] = sizeWith(110)
    expect([fewMore, manyMore]).toEqual([0, 0])
    expect((many - few) / 100).toBeLessThanOrEqual(1)
  })
})

describe('nodes count', () => {
  const counted = (nodes: readonly Node[], change: Partial<Pod>, spread: Partial<TopologySpreadConstraint> = {}) =>
    spreadOf(zone, {
      pools: [two],
      nodes,
      pods: web(3, { topologySpreadConstraints: [over(zone, spread)], ...change }),
    })

  it('only if they meet selector and required terms, unless the policy ignores that', () => {
    const other = full('node-3', { [zone]: 'zone-3', [team]: 'bar' })
    expect(counted([other], foo)).toEqual({ 'zone-1': 2, 'zone-2': 1 })
    expect(counted([other], foo, { nodeAffinityPolicy: 'Ignore' })).toEqual({ 'zone-1': 1, 'zone-2': 1 })
    expect(counted([other], anyOf([isOneOf(team, 'foo')], [isOneOf(team, 'bar')]))).toEqual({
      'zone-1': 1,
      'zone-2': 1,
    })
    const restricted = anyOf([isOneOf(zone, 'zone-1')])
    expect(counted([full('node-2', { [zone]: 'zone-2' })], restricted, { nodeAffinityPolicy: 'Ignore' })).toEqual({
      'zone-1': 1,
    })
  })

  it('only if they have all topology keys of the pod, its DoNotSchedule constraints alone', () => {
    const bare = full('node-3', { [zone]: 'zone-3' })
    const and = (second: TopologySpreadConstraint) => ({ topologySpreadConstraints: [over(zone), second] })
    const racks = pool('racks', {}, isOneOf(zone, 'zone-1'), isOneOf(rack, 'r1'))
    const cluster = (pods: readonly Pod[]) => spreadOf(zone, { pools: [racks], nodes: [bare], pods })
    expect(cluster(web(2, and(over(rack))))).toEqual({ 'zone-1': 2 })
    expect(cluster(web(2, and(over(rack, { whenUnsatisfiable: 'ScheduleAnyway' }))))).toEqual({ 'zone-1': 1 })
  })

  it('with taints, unless the policy honors those that keep the pod away', () => {
    const other = { ...full('node-3', { [zone]: 'zone-3', [team]: 'foo' }), taints: [dedicated] }
    const disliked: Taint = { key: 'disliked', effect: 'PreferNoSchedule' }
    expect(counted([other], foo)).toEqual({ 'zone-1': 1, 'zone-2': 1 })
    expect(counted([other], foo, { nodeTaintsPolicy: 'Honor' })).toEqual({ 'zone-1': 2, 'zone-2': 1 })
    expect(counted([{ ...other, taints: [disliked] }], foo, { nodeTaintsPolicy: 'Honor' })).toEqual({
      'zone-1': 1,
      'zone-2': 1,
    })
  })

  it('for each pod by its own selector, terms and minDomains, whoever states the same selector of pods', () => {
    const one = pool('one', { [team]: 'bar' }, isOneOf(zone, 'zone-3'))
    const spread = (own: string, change: Partial<TopologySpreadConstraint> = {}) =>
      web(2, { nodeSelector: { [team]: own }, topologySpreadConstraints: [over(zone, change)] }, own)
    const zonesOf = (pods: readonly Pod[]) => spreadOf(zone, { pools: [two, one], pods })
    expect(zonesOf([...spread('foo'), ...spread('bar')])).toEqual({ 'zone-1': 1, 'zone-2': 1, 'zone-3': 2 })
    expect(zonesOf([...spread('foo'), ...spread('bar', { minDomains: 2 })])).toEqual({
      'zone-1': 1,
      'zone-2': 1,
      'zone-3': 1,
    })
  })
})
