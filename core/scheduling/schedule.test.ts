import { describe, expect, it } from 'vitest'
import { sampleMeta, sampleNode, samplePod, samplePool, sampleType } from '../../test/samples/sample-objects.ts'
import { schedule } from '../../test/samples/schedule.ts'
import type { Affinity, Pod, TopologySpreadConstraint } from '../objects.ts'
import { formatResources, parseResources } from '../resources.ts'
import type { NodePoolOption, SchedulableNode, SchedulingPlan, SchedulingSnapshot } from './snapshot.ts'
import { schedulableNodes } from './state-nodes.ts'

const types = [sampleType('small', 2), sampleType('medium', 4), sampleType('large', 8)]
const option = (change: Partial<NodePoolOption> = {}): NodePoolOption => ({
  nodePool: samplePool(),
  instanceTypes: types,
  usage: {},
  ...change,
})
const plan = (change: Partial<SchedulingSnapshot>): SchedulingPlan =>
  schedule({ pods: [], nodes: [], nodePools: [option()], daemonSets: [], ...change })
const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name)
const many = (count: number, make: (name: string) => Pod) =>
  Array.from({ length: count }, (_, index) => make(`web-${String(index).padStart(3, '0')}`))
const causes = ({ unschedulable }: SchedulingPlan) => unschedulable.map(({ cause }) => cause)
/** Returns why the first NodePool refuses the first pod. */
const refusal = (result: SchedulingPlan) => {
  const [cause] = causes(result)
  return cause?.kind === 'refused' ? cause.refusals[0] : cause
}
const nodes = (...list: readonly ReturnType<typeof sampleNode>[]): readonly SchedulableNode[] =>
  schedulableNodes({ nodes: list, nodeClaims: [], podsByNode: new Map(), daemonSets: [] })

const app = { matchLabels: { app: 'web' } }
const web = { labels: { app: 'web' } }
const antiAffinity = (topologyKey: string): Affinity => ({
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: app, topologyKey }] },
})
const spread = (topologyKey: string, change: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: app,
  ...change,
})
const zoneOf = (claim: SchedulingPlan['newNodeClaims'][number]) =>
  claim.requirements.find(({ key }) => key === 'topology.kubernetes.io/zone')?.values

describe('schedule', () => {
  it('puts pods together on one claim and names its types from the cheapest on', () => {
    const result = plan({ pods: many(5, (name) => samplePod(name)) })
    expect(result.newNodeClaims).toHaveLength(1)
    const [claim] = result.newNodeClaims
    expect(claim?.instanceTypes).toEqual(['medium', 'large'])
    expect(claim?.price).toBeCloseTo(0.06)
    expect(formatResources(claim?.requests ?? {})).toEqual({ cpu: '2500m', memory: '2560Mi', pods: '5' })
    expect(claim?.labels['karpenter.sh/nodepool']).toBe('default')
    expect(result.unschedulable).toEqual([])
  })

  it('fills existing nodes before it opens a claim, initialized ones first', () => {
    const two = { cpu: 1, memory: '2Gi', pods: 2 }
    const fresh = sampleNode('a', { metadata: { labels: { 'karpenter.sh/initialized': 'false' } }, allocatable: two })
    const result = plan({
      pods: many(3, (name) => samplePod(name)),
      nodes: nodes(sampleNode('b', { allocatable: two })).concat({
        ...(nodes(fresh)[0] as SchedulableNode),
        initialized: false,
      }),
    })
    expect(result.existing.map(({ node, pods }) => [node, names(pods)])).toEqual([
      ['b', ['web-000', 'web-001']],
      ['a', ['web-002']],
    ])
    expect(result.newNodeClaims).toEqual([])
  })

  it('places larger pods first and gives the same plan for any order of the input', () => {
    const pods = [samplePod('small', { requests: { cpu: '100m' } }), samplePod('big', { requests: { cpu: 7 } })]
    const a = plan({ pods })
    const b = plan({ pods: pods.toReversed() })
    expect(a).toEqual(b)
    expect(names(a.newNodeClaims[0]?.pods ?? [])).toEqual(['big', 'small'])
  })

  it('tries pools by weight, then by name descending, and joins their errors', () => {
    const pool = (name: string, weight: number) => option({ nodePool: samplePool(name, { weight }) })
    expect(plan({ pods: [samplePod('p')], nodePools: [pool('a', 0), pool('b', 0)] }).newNodeClaims[0]?.nodePool).toBe(
      'b',
    )
    expect(plan({ pods: [samplePod('p')], nodePools: [pool('a', 5), pool('b', 0)] }).newNodeClaims[0]?.nodePool).toBe(
      'a',
    )
    const tainted = samplePool('t', { spec: { taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] } })
    const full = option({ nodePool: samplePool('f', { limits: { cpu: 1 } }) })
    expect(causes(plan({ pods: [samplePod('p')], nodePools: [option({ nodePool: tainted }), full] }))).toEqual([
      {
        kind: 'refused',
        refusals: [
          { kind: 'taints', taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] },
          { kind: 'resource-limits', nodePool: 'f' },
        ],
      },
    ])
  })

  it('tries nothing without pools, not even existing nodes', () => {
    const result = plan({ pods: [samplePod('p')], nodes: nodes(sampleNode('a')), nodePools: [] })
    expect(causes(result)).toEqual([{ kind: 'no-node-pools' }])
  })

  it('keeps to limits of capacity within one pass, to those of nodes from the next pass on', () => {
    const pods = many(3, (name) => samplePod(name, { requests: { cpu: 7 } }))
    const byCpu = plan({
      pods,
      nodePools: [
        option({ nodePool: samplePool('default', { limits: { cpu: 20 } }), usage: parseResources({ cpu: 4 }) }),
      ],
    })
    expect(byCpu.newNodeClaims).toHaveLength(2)
    const nodePool = samplePool('default', { limits: { nodes: 1 } })
    expect(plan({ pods, nodePools: [option({ nodePool })] }).newNodeClaims).toHaveLength(3)
    const byNodes = plan({ pods, nodePools: [option({ nodePool, usage: parseResources({ nodes: 1 }) })] })
    expect(refusal(byNodes)).toEqual({ kind: 'node-limit', nodePool: 'default' })
  })

  it('opens no claim of a pool whose limit leaves a part of a node', () => {
    const limited = samplePool('limited', { weight: 10, limits: { nodes: '2500m' } })
    const usage = parseResources({ nodes: 2 })
    const options = [option({ nodePool: limited, usage }), option({ nodePool: samplePool('other') })]
    const { newNodeClaims } = plan({ pods: [samplePod('web')], nodePools: options })
    expect(newNodeClaims.map(({ nodePool }) => nodePool)).toEqual(['other'])
    expect(refusal(plan({ pods: [samplePod('web')], nodePools: options.slice(0, 1) }))).toEqual({
      kind: 'node-limit',
      nodePool: 'limited',
    })
  })

  it('says why no instance type will do', () => {
    const large = refusal(plan({ pods: [samplePod('p', { requests: { cpu: 99, memory: '1Gi' } })] }))
    expect(large).toMatchObject({
      kind: 'types',
      problem: { kind: 'unmet', criteria: ['resources'] },
      requests: parseResources({ cpu: 99, memory: '1Gi', pods: 1 }),
    })
    const arm = refusal(plan({ pods: [samplePod('p', { nodeSelector: { 'kubernetes.io/arch': 'arm64' } })] }))
    expect(arm).toMatchObject({ kind: 'types', problem: { kind: 'unmet', criteria: ['requirements'] } })
    expect(arm?.kind === 'types' && [...(arm.requirements.get('kubernetes.io/arch')?.values ?? [])]).toEqual(['arm64'])
    expect(refusal(plan({ pods: [samplePod('p', { nodeSelector: { 'example.com/team': 'a' } })] }))).toEqual({
      kind: 'incompatible',
      by: 'pod',
      problem: { kind: 'unknown-label', key: 'example.com/team', meant: undefined },
    })
  })

  it('takes the next required term and gives up preferences where it must', () => {
    const zone = (value: string) => ({
      matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: [value] }],
    })
    const affinity: Affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zone('nowhere'), zone('zone-2')] },
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: zone('elsewhere') }],
      },
    }
    const result = plan({ pods: [samplePod('p', { affinity })] })
    expect(result.newNodeClaims.map(zoneOf)).toEqual([['zone-2']])
    expect(result.newNodeClaims[0]?.pods[0]?.affinity).toBe(affinity)
  })

  it('counts daemons, and their host ports', () => {
    const daemon = samplePod('daemon', {
      requests: { cpu: 1 },
      hostPorts: [{ hostPort: 80 }],
      metadata: { namespace: 'kube-system' },
    })
    const daemonSets = [{ kind: 'DaemonSet' as const, metadata: sampleMeta('daemon'), pod: daemon }]
    const result = plan({ pods: [samplePod('p', { requests: { cpu: '1500m' } })], daemonSets })
    expect(result.newNodeClaims[0]?.instanceTypes).toEqual(['medium', 'large'])
    expect(formatResources(result.newNodeClaims[0]?.requests ?? {})['cpu']).toBe('2500m')
    expect(refusal(plan({ pods: [samplePod('p', { hostPorts: [{ hostPort: 80 }] })], daemonSets }))).toMatchObject({
      problem: { kind: 'unmet', criteria: ['requirements', 'resources', 'offering'] },
    })
  })

  it('separates pods that want the same host port', () => {
    const result = plan({ pods: many(2, (name) => samplePod(name, { hostPorts: [{ hostPort: 443 }] })) })
    expect(result.newNodeClaims).toHaveLength(2)
  })

  it('does not place pods with resource claims, nor those whose volumes cannot be resolved', () => {
    expect(causes(plan({ pods: [samplePod('p', { resourceClaims: ['gpu'] })] }))).toEqual([{ kind: 'resource-claims' }])
    const pod = samplePod('p')
    const error = { kind: 'volume-not-found', volume: 'v' } as const
    const podVolumes = new Map([[pod, { byDriver: {}, alternatives: [], error }]])
    expect(causes(plan({ pods: [pod], podVolumes }))).toEqual([{ kind: 'volumes', problem: error }])
  })

  it('stops when asked to', () => {
    let asked = 0
    const snapshot = { pods: many(5, (name) => samplePod(name)), nodes: [], nodePools: [option()], daemonSets: [] }
    const result = schedule(snapshot, { shouldStop: () => ++asked > 2 })
    expect(result.stopped).toBe(true)
    expect(result.newNodeClaims[0]?.pods).toHaveLength(2)
  })

  it('cuts the list of types to the cheapest, unless minValues forbids', () => {
    const snapshot = { pods: [samplePod('p')], nodes: [], nodePools: [option()], daemonSets: [] }
    expect(schedule(snapshot, { maxInstanceTypes: 1 }).newNodeClaims[0]?.instanceTypes).toEqual(['small'])
    const requirements = [{ key: 'node.kubernetes.io/instance-type', operator: 'Exists' as const, minValues: 2 }]
    const nodePools = [option({ nodePool: samplePool('default', { spec: { requirements } }) })]
    expect(causes(schedule({ ...snapshot, nodePools }, { maxInstanceTypes: 1 }))).toEqual([
      { kind: 'min-values-cut', nodePool: 'default', labels: ['node.kubernetes.io/instance-type'] },
    ])
    const few = [{ ...(nodePools[0] as NodePoolOption), instanceTypes: types.slice(1, 2) }]
    expect(causes(schedule({ ...snapshot, nodePools: few }))).toEqual([{ kind: 'no-instance-types' }])
    const relaxed = schedule({ ...snapshot, nodePools: few }, { minValuesPolicy: 'BestEffort' })
    expect(relaxed.newNodeClaims).toMatchObject([{ instanceTypes: ['medium'], minValuesRelaxed: true }])
  })
})

describe('topology', () => {
  it.each([
    [
      'anti-affinity',
      (name: string) => samplePod(name, { metadata: web, affinity: antiAffinity('kubernetes.io/hostname') }),
    ],
    [
      'spread',
      (name: string) =>
        samplePod(name, { metadata: web, topologySpreadConstraints: [spread('kubernetes.io/hostname')] }),
    ],
  ])('gives each pod its own node: hostname %s, fast with many types', (_, make) => {
    const instanceTypes = Array.from({ length: 300 }, (_, index) => sampleType(`type-${index}`, 2 + (index % 62)))
    const result = plan({ pods: many(500, make), nodePools: [option({ instanceTypes })] })
    expect(result.newNodeClaims).toHaveLength(500)
    expect(result.newNodeClaims.every(({ pods }) => pods.length === 1)).toBe(true)
  })

  it('does not put a pod on the node of one that keeps it away', () => {
    const loner = samplePod('loner', {
      metadata: web,
      phase: 'Running',
      affinity: antiAffinity('kubernetes.io/hostname'),
    })
    const state = { nodes: [sampleNode('a')], nodeClaims: [], podsByNode: new Map([['a', [loner]]]), daemonSets: [] }
    const result = plan({ pods: [samplePod('p', { metadata: web })], nodes: schedulableNodes(state) })
    expect(result.existing).toEqual([])
    expect(result.newNodeClaims).toHaveLength(1)
  })

  it('spreads over zones within maxSkew', () => {
    const make = (name: string) =>
      samplePod(name, { metadata: web, topologySpreadConstraints: [spread('topology.kubernetes.io/zone')] })
    const result = plan({ pods: many(7, make) })
    const perZone = new Map<string, number>()
    for (const claim of result.newNodeClaims) {
      expect(zoneOf(claim)).toHaveLength(1)
      const zone = zoneOf(claim)?.[0] ?? ''
      perZone.set(zone, (perZone.get(zone) ?? 0) + claim.pods.length)
    }
    expect([...perZone.values()].sort((a, b) => a - b)).toEqual([2, 2, 3])
  })

  it('holds a pod back when only a crowded zone is left to it', () => {
    const make = (name: string) =>
      samplePod(name, {
        metadata: web,
        nodeSelector: {},
        topologySpreadConstraints: [spread('topology.kubernetes.io/zone')],
      })
    const oneZone = samplePool('default', {
      spec: { requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['zone-1'] }] },
    })
    const result = plan({
      pods: many(2, make),
      nodes: nodes(
        sampleNode('full', { metadata: { labels: { 'topology.kubernetes.io/zone': 'zone-2' } }, allocatable: {} }),
      ),
      nodePools: [option({ nodePool: oneZone })],
    })
    expect(result.newNodeClaims).toHaveLength(1)
    expect(refusal(result)).toMatchObject({
      kind: 'topology',
      rule: 'topology spread',
      key: 'topology.kubernetes.io/zone',
      counts: [
        ['zone-1', 1],
        ['zone-2', 0],
      ],
    })
  })

  it('gives up ScheduleAnyway before it leaves a pod without a node', () => {
    const constraint = spread('example.com/rack', { whenUnsatisfiable: 'ScheduleAnyway' })
    expect(plan({ pods: [samplePod('p', { topologySpreadConstraints: [constraint] })] }).newNodeClaims).toHaveLength(1)
  })
})
