import { describe, expect, it } from 'vitest'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import { schedule } from '../../test/samples/schedule.ts'
import type { NodeClaim, Pod } from '../objects.ts'
import { formatResources, parseResources } from '../resources.ts'
import { type ClusterState, isBeingEmptied, isLeaving, schedulableNodes } from './state-nodes.ts'
import { Storage } from './volumes.ts'

const state = (change: Partial<ClusterState>) =>
  schedulableNodes({ nodes: [], nodeClaims: [], podsByNode: new Map(), daemonSets: [], ...change })

/** A claim without a VM. */
const planned = (name: string, spec: Partial<NodeClaim['spec']>, labels = {}): NodeClaim => ({
  ...sampleClaim(name, { spec }),
  metadata: sampleMeta(name, { labels: { 'karpenter.sh/nodepool': 'default', ...labels } }),
  status: { capacity: {}, allocatable: {}, conditions: [] },
})

/** Of a claim whose Node has not been initialized, whatever that says. */
const starting = { conditions: [sampleCondition('Registered')] }

describe('schedulableNodes', () => {
  it('merges a Node with its claim and subtracts its pods', () => {
    const running = samplePod('p', { phase: 'Running' })
    const ended = samplePod('ended', { phase: 'Succeeded' })
    const [node, ...others] = state({
      nodes: [sampleNode('a')],
      nodeClaims: [sampleClaim('a')],
      podsByNode: new Map([['a', [running, ended]]]),
    })
    expect(others).toEqual([])
    expect(node).toMatchObject({ name: 'a', hostname: 'a', nodeClaim: 'a-claim', initialized: true })
    expect(formatResources(node?.available ?? {})).toEqual({ cpu: '3500m', memory: '15872Mi', pods: '109' })
    expect(node?.pods).toEqual([running])
  })

  it.each([
    ['a deleting claim', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }],
    ['a claim under disruption', { metadata: { annotations: { 'joiner.sh/disruption-command': 'x' } } }],
    [
      'a claim whose VM is going',
      { status: { conditions: [{ type: 'InstanceTerminating', status: 'True' as const }] } },
    ],
  ])('leaves out %s', (_, change) => {
    expect(state({ nodes: [sampleNode('a')], nodeClaims: [sampleClaim('a', change)] })).toEqual([])
  })

  describe('volume limits', () => {
    const driver = 'disk.csi.azure.com'
    const type = (name: string, limit: number) => ({
      ...sampleType(name, 4),
      volumeAttachmentLimits: { [driver]: limit },
    })
    const storage = new Storage({ persistentVolumeClaims: [], persistentVolumes: [], storageClasses: [] })
    const instanceTypes = new Map([['default', [type('small', 4), type('large', 16), sampleType('unlimited', 4)]]])
    const typed = { metadata: { labels: { 'node.kubernetes.io/instance-type': 'small' } } }
    const csiNode = (count?: number) => ({
      kind: 'CSINode' as const,
      metadata: sampleMeta('a'),
      drivers: [{ name: driver, ...(count === undefined ? {} : { count }) }],
    })
    const known = { nodes: [sampleNode('a', typed)], nodeClaims: [sampleClaim('a')] }
    const inFlight = (...values: readonly string[]) => ({
      nodeClaims: [
        planned('a', { requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values }] }),
      ],
    })
    it.each([
      ['the type of a node without CSINode', known, { [driver]: 4 }],
      ['a CSINode', { ...known, csiNodes: [csiNode(2)] }, { [driver]: 2 }],
      ['a CSINode that sets none', { ...known, csiNodes: [csiNode()] }, {}],
      ['the smallest type that a claim may become', inFlight('small', 'large', 'unlimited'), { [driver]: 4 }],
      ['the only type that a claim may become', inFlight('large'), { [driver]: 16 }],
    ])('come from %s', (_, change, limits) => {
      expect(state({ ...change, storage, instanceTypes })[0]?.volumeLimits).toEqual(limits)
    })
  })

  it('ignores taints that vanish while a node starts', () => {
    const taints = [
      { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' as const },
      { key: 'cni', effect: 'NoSchedule' as const },
      { key: 'team', effect: 'NoSchedule' as const },
    ]
    const claim = sampleClaim('a', {
      spec: { startupTaints: [{ key: 'cni', effect: 'NoSchedule' }] },
      status: starting,
    })
    const [node] = state({ nodes: [sampleNode('a', { taints })], nodeClaims: [claim] })
    expect(node?.taints.map(({ key }) => key)).toEqual(['team'])
  })

  it('takes from the claim what a starting kubelet does not report yet', () => {
    const nodes = [sampleNode('a', { allocatable: { cpu: 0 } })]
    const [node] = state({ nodes, nodeClaims: [sampleClaim('a', { status: starting })] })
    expect(formatResources(node?.available ?? {})).toMatchObject({ cpu: '4', memory: '16Gi' })
  })

  it('reserves room for daemons that have not come yet', () => {
    const daemon = samplePod('daemon', { requests: { cpu: 1 } })
    const daemonSets = [{ kind: 'DaemonSet' as const, metadata: sampleMeta('daemon'), pod: daemon }]
    const running = samplePod('daemon-x', { requests: { cpu: 1 }, metadata: ownedBy('DaemonSet') })
    const cpuWith = (pods: readonly Pod[]) => {
      const [node] = state({ nodes: [sampleNode('a')], daemonSets, podsByNode: new Map([['a', pods]]) })
      return formatResources(node?.available ?? {})['cpu']
    }
    expect(cpuWith([])).toBe('3')
    expect(cpuWith([running])).toBe('3')
  })

  it('finds the pods of a pass a second time on the claims that it planned', () => {
    const pods = ['p', 'q'].map((name) =>
      samplePod(name, { nodeSelector: { 'topology.kubernetes.io/zone': 'zone-2' } }),
    )
    const nodePools = [{ nodePool: samplePool(), instanceTypes: [sampleType('medium', 4)], usage: {} }]
    const first = schedule({ pods, nodes: [], nodePools, daemonSets: [] })
    const [claim] = first.newNodeClaims
    if (claim === undefined) throw new Error('no claim')
    const inFlight = planned('default-x', { requirements: claim.requirements, requests: claim.requests }, claim.labels)
    const second = schedule({ pods, nodes: state({ nodeClaims: [inFlight] }), nodePools, daemonSets: [] })
    expect(second.newNodeClaims).toEqual([])
    expect(second.existing).toMatchObject([{ node: 'default-x', nodeClaim: 'default-x' }])
    const nominated = state({ nodeClaims: [inFlight], podsByNode: new Map([['default-x', pods]]) })
    const third = schedule({ pods: [samplePod('r')], nodes: nominated, nodePools, daemonSets: [] })
    expect(third.newNodeClaims).toHaveLength(1)
  })

  it('trusts a claim without a VM only with labels that it will have for certain', () => {
    const requirements = [{ key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: ['zone-1', 'zone-2'] }]
    const nodes = state({
      nodeClaims: [planned('x', { requirements, requests: parseResources({ cpu: 1, memory: '1Gi', pods: 1 }) })],
    })
    const placed = (zones: readonly string[]) => {
      const term = {
        matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: zones }],
      }
      const affinity = {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
      }
      const nodePools = [{ nodePool: samplePool(), instanceTypes: [], usage: {} }]
      return schedule({ pods: [samplePod('p', { affinity })], nodes, nodePools, daemonSets: [] }).existing.length
    }
    expect(placed(['zone-1'])).toBe(0)
    expect(placed(['zone-1', 'zone-2', 'zone-3'])).toBe(1)
  })
})

describe('isBeingEmptied', () => {
  const stamped = (command: string) => ({ 'joiner.sh/disruption-command': command })
  const drifting = stamped('static-drift-x')
  const ending = { type: 'InstanceTerminating', status: 'True' as const }

  it.each<[string, boolean, Parameters<typeof sampleClaim>[1], Parameters<typeof sampleNode>[1]]>([
    ['a node that stays', false, {}, {}],
    ['a node of a command', true, { metadata: { annotations: stamped('drift-x') } }, {}],
    ['a node of a static pool that waits for its replacement', false, { metadata: { annotations: drifting } }, {}],
    [
      'one whose replacement is ready',
      true,
      { metadata: { annotations: drifting, deletionTimestamp: '2026-01-01T00:00:00Z' } },
      {},
    ],
    ['one whose VM is about to end', true, { metadata: { annotations: drifting } }, { isInterrupted: true }],
    ['one whose VM ends', true, { metadata: { annotations: drifting }, status: { conditions: [ending] } }, {}],
  ])('%s: %s', (_, isEmptied, claim, node) => {
    const [of, at] = [sampleClaim('a', claim), sampleNode('a', node)]
    expect(isBeingEmptied(of, at)).toBe(isEmptied)
    // Whatever becomes of its pods, it is no place for others.
    if (isEmptied) expect(isLeaving(of, at)).toBe(true)
  })

  it.each([
    ['whose NodeClaim is lost, while it is Ready', 'True', ['karpenter.sh/termination'], false],
    ['whose NodeClaim is lost, once it is silent', 'Unknown', ['karpenter.sh/termination'], true],
    ['of others', 'True', [], true],
  ] as const)('a Node that is being deleted %s: %s', (_, status, finalizers, isEmptied) => {
    const conditions = [{ type: 'Ready', status }]
    const node = sampleNode('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers }, conditions })
    expect(isBeingEmptied(undefined, node)).toBe(isEmptied)
    expect(isLeaving(undefined, node)).toBe(true)
  })
})
