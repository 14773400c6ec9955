import { describe, expect, it } from 'vitest'
import {
  ownedBy,
  sampleClaim,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import { schedule } from '../../test/samples/schedule.ts'
import type { PodDisruptionBudget } from '../objects.ts'
import { formatResources } from '../resources.ts'
import { type ClusterObjects, podsToPlace, schedulingSnapshot } from './cluster.ts'

const ready = { conditions: [{ type: 'Ready', status: 'True' as const }] }
const cluster = (change: Partial<ClusterObjects>): ClusterObjects => ({
  pods: [],
  nodes: [],
  nodeClaims: [],
  nodePools: [samplePool('default', ready)],
  daemonSets: [],
  podDisruptionBudgets: [],
  instanceTypes: new Map([['default', [sampleType('small', 2)]]]),
  ...change,
})
const snapshot = (change: Partial<ClusterObjects>) => schedulingSnapshot(cluster(change), { now: sampleTime })
const going = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }

describe('podsToPlace', () => {
  /** It never allows an eviction. */
  const budget: PodDisruptionBudget = {
    kind: 'PodDisruptionBudget',
    metadata: sampleMeta('web', { namespace: 'default' }),
    selector: { matchLabels: { app: 'web' } },
    maxUnavailable: 0,
    disruptionsAllowed: 0,
  }
  const bound = (name: string, change: Parameters<typeof samplePod>[1] = {}) =>
    samplePod(name, { nodeName: 'a', phase: 'Running', conditions: [], ...change })
  const moving = (pods: ClusterObjects['pods'], podDisruptionBudgets: readonly PodDisruptionBudget[] = []) =>
    podsToPlace(
      cluster({ pods, nodes: [sampleNode('a')], nodeClaims: [sampleClaim('a', going)], podDisruptionBudgets }),
      sampleTime,
    ).map(({ metadata }) => metadata.name)

  it('takes pending pods first, then those that a leaving node must let go', () => {
    const pods = [
      bound('web'),
      bound('daemon', { metadata: ownedBy('DaemonSet') }),
      bound('pinned', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }),
      samplePod('waiting'),
      samplePod('nominated', { nominatedNodeName: 'b' }),
      samplePod('deleted', going),
      samplePod('over', { phase: 'Failed' }),
      samplePod('gated', { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] }),
    ]
    expect(moving(pods)).toEqual(['waiting', 'web'])
  })

  it('takes every pod of a node whose VM is about to end, whatever its annotation and its budget say', () => {
    const pods = [
      bound('daemon', { metadata: ownedBy('DaemonSet') }),
      bound('held', { metadata: { labels: { app: 'web' } } }),
      bound('pinned', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }),
    ]
    const interrupted = sampleClaim('a', {
      metadata: { ...going.metadata, annotations: { 'joiner.sh/interrupted': 'PreemptionScheduled' } },
    })
    const objects = cluster({
      pods,
      nodes: [sampleNode('a')],
      nodeClaims: [interrupted],
      podDisruptionBudgets: [budget],
    })
    expect(podsToPlace(objects, sampleTime).map(({ metadata }) => metadata.name)).toEqual(['held', 'pinned'])
    expect(moving(pods, [budget])).toEqual([])
    const noticed = cluster({
      pods,
      nodes: [sampleNode('a', { isInterrupted: true }), sampleNode('foreign', { isInterrupted: true })],
      nodeClaims: [sampleClaim('a')],
    })
    expect(podsToPlace(noticed, sampleTime).map(({ metadata }) => metadata.name)).toEqual(['held', 'pinned'])
    expect(schedulingSnapshot(noticed, { now: sampleTime }).nodes.map(({ name }) => name)).toEqual(['foreign'])
  })

  it('gives the pods of 200 nodes that are taken back at once other nodes in one pass', () => {
    const names = Array.from({ length: 200 }, (_, index) => `n${index}`)
    const taken = cluster({
      pods: names.flatMap((nodeName) =>
        ['a', 'b', 'c'].map((pod) => bound(`${nodeName}-${pod}`, { nodeName, requests: { cpu: '600m' } })),
      ),
      nodes: [...names.map((name) => sampleNode(name, { isInterrupted: true })), sampleNode('stays')],
      nodeClaims: [...names, 'stays'].map((name) => sampleClaim(name)),
      // The pool's limits count no node whose VM is about to end.
      nodePools: [samplePool('default', { ...ready, limits: { nodes: 201 } })],
    })
    const { newNodeClaims, existing, unschedulable } = schedule(schedulingSnapshot(taken, { now: sampleTime }))
    expect(unschedulable).toEqual([])
    expect(existing.map(({ node, pods }) => [node, pods.length])).toEqual([['stays', 6]])
    expect(newNodeClaims).toHaveLength(198)
    expect(newNodeClaims.flatMap(({ pods }) => pods)).toHaveLength(594)
  })

  it('makes no room for pods that their budgets will never let go', () => {
    const metadata = { labels: { app: 'web' } }
    const { maxUnavailable: _, ...loose } = budget
    expect(moving([bound('web', { metadata })], [budget])).toEqual([])
    expect(moving([bound('web', { metadata })], [{ ...loose, maxUnavailable: 1 }])).toEqual(['web'])
    expect(moving([bound('web', { metadata })], [{ ...loose, minAvailable: '100%' }])).toEqual([])
  })
})

describe('schedulingSnapshot', () => {
  it('offers ready pools that may grow, with what their nodes take of the limits', () => {
    const { nodePools } = snapshot({
      nodePools: [
        samplePool('default', ready),
        samplePool('unready', { conditions: [{ type: 'Ready', status: 'False' }] }),
        samplePool('static', { ...ready, isStatic: true }),
        { ...samplePool('going', ready), metadata: sampleMeta('going', going.metadata) },
      ],
      nodes: [sampleNode('a'), sampleNode('b')],
      nodeClaims: [sampleClaim('a'), sampleClaim('b', going)],
    })
    expect(nodePools.map(({ nodePool }) => nodePool.metadata.name)).toEqual(['default'])
    expect(formatResources(nodePools[0]?.usage ?? {})).toMatchObject({ cpu: '4', nodes: '1' })
  })

  it('counts the pods of nodes that are no places', () => {
    const daemon = samplePod('daemon', { nodeName: 'a', metadata: ownedBy('DaemonSet') })
    const { nodes, occupied } = snapshot({
      pods: [daemon],
      nodes: [sampleNode('a')],
      nodeClaims: [sampleClaim('a', going)],
    })
    expect(nodes).toEqual([])
    expect(occupied).toMatchObject([{ facts: { name: 'a' }, pods: [daemon], isTracked: true }])
  })

  it('leaves out pods with unknown volumes, and reports the problems of the others', () => {
    const pods = [
      samplePod('p', { persistentVolumeClaims: ['data'] }),
      samplePod('q', { nodeSelector: { 'karpenter.sh/custom': 'x', 'karpenter.sh/capacity-type': 'cheap' } }),
    ]
    const blind = snapshot({ pods })
    expect(blind.pods).toEqual([])
    expect([...(blind.ignored?.values() ?? [])]).toMatchObject([
      { kind: 'volumes-not-looked-up', claims: ['data'] },
      {
        kind: 'ignored',
        reasons: [
          { kind: 'requirement', requirement: { key: 'karpenter.sh/custom' }, errors: [expect.any(String)] },
          { kind: 'requirement', requirement: { key: 'karpenter.sh/capacity-type' }, errors: [expect.any(String)] },
        ],
      },
    ])
    const seeing = snapshot({ pods, persistentVolumeClaims: [], persistentVolumes: [], storageClasses: [] })
    expect([...(seeing.ignored?.values() ?? [])][0]).toEqual({
      kind: 'ignored',
      reasons: [{ kind: 'volumes', problem: { kind: 'claim-not-found', claim: 'data' } }],
    })
  })

  it('takes the newest pod of a DaemonSet for all, with the affinity of its template', () => {
    const metadata = sampleMeta('agent', { namespace: 'kube-system' })
    const required = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [] }] },
    }
    const template = samplePod('agent', { affinity: { nodeAffinity: required } })
    const own = {
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: metadata.uid, controller: true },
      ],
    }
    const old = samplePod('old', { metadata: { ...own, creationTimestamp: '2025-01-01T00:00:00Z' }, nodeName: 'a' })
    const grown = samplePod('grown', { metadata: own, nodeName: 'a', requests: { cpu: 1 } })
    const { daemonSets } = snapshot({
      pods: [old, grown],
      daemonSets: [{ kind: 'DaemonSet', metadata, pod: template }],
    })
    expect(daemonSets[0]?.pod).toMatchObject({ metadata: { name: 'grown' }, affinity: { nodeAffinity: required } })
  })

  it('spreads pods by default where a Service or their controller selects them', () => {
    const metadata = sampleMeta('web', { namespace: 'default' })
    const labelled = samplePod('p', { metadata: { labels: { app: 'web', tier: 'a' }, ...ownedBy('ReplicaSet') } })
    const { pods } = schedulingSnapshot(
      cluster({
        pods: [labelled, samplePod('plain')],
        services: [{ kind: 'Service', metadata, selector: { app: 'web' } }],
        controllers: [
          { kind: 'ReplicaSet', metadata: { ...metadata, name: 'owner' }, selector: { matchLabels: { tier: 'a' } } },
        ],
      }),
      {
        now: sampleTime,
        defaultSpread: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
      },
    )
    expect(pods.map(({ topologySpreadConstraints }) => topologySpreadConstraints[0]?.labelSelector)).toEqual([
      { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'tier', operator: 'In', values: ['a'] }] },
      undefined,
    ])
  })
})
