import { expect, test } from 'vitest'
import type { Pod } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { parseResources } from '../../core/resources.ts'
import { ownedBy, sampleClaim, sampleNode, samplePod, samplePool } from '../../test/samples/sample-objects.ts'
import { conditionGauges } from './condition-metrics.ts'
import type { GaugeFamily } from './gauge-family.ts'
import { nodeGauges } from './node-gauges.ts'
import { podStates } from './pod-gauges.ts'

const now = Date.parse('2026-01-01T01:00:00Z')
const joined = sampleNode('node', {
  providerId: 'azure:///node',
  metadata: {
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: {
      [labels.nodePool]: 'web',
      [labels.zone]: 'westus2-1',
      [labels.arch]: 'amd64',
      [labels.instanceType]: 'Standard_D4s_v5',
      [labels.capacityType]: 'spot',
      'kubernetes.azure.com/sku-cpu': '4',
      'karpenter.azure.com/sku-cpu': '4',
    },
  },
  allocatable: { cpu: '4', memory: '8Gi' },
})
const other = sampleNode('other', {
  providerId: 'azure:///other',
  metadata: { labels: {}, creationTimestamp: '2026-01-01T00:30:00Z' },
  allocatable: { cpu: '4', memory: '8Gi' },
})
const bound = { nodeName: 'node', phase: 'Running' } as const
const node = { ...joined, capacity: parseResources({ cpu: '4500m', memory: '8Gi' }) }
const pods = [
  samplePod('app', { ...bound, requests: { cpu: '1500m', memory: '2Gi' }, limits: parseResources({ cpu: 2 }) }),
  samplePod('daemon', { ...bound, requests: { cpu: '500m', memory: '0' }, metadata: ownedBy('DaemonSet') }),
  samplePod('done', { ...bound, phase: 'Succeeded', requests: { cpu: '1', memory: '0' } }),
]
const claim = sampleClaim('node', {
  metadata: { labels: { [labels.nodePool]: 'web', [labels.zone]: 'westus2-1', [labels.capacityType]: 'spot' } },
})

const cluster = {
  nodes: new Map([node, other].map((one) => [one.metadata.name, one])),
  nodePools: new Map([
    [
      'web',
      {
        ...samplePool('web'),
        limits: parseResources({ cpu: '100' }),
        resources: parseResources({ cpu: '4', nodes: '1' }),
      },
    ],
  ]),
  nodeClaims: { by: (_: string, id: string) => (id === 'azure:///node' ? [claim] : []) },
  pods: { values: () => pods, by: (_: string, name: string) => pods.filter(({ nodeName }) => nodeName === name) },
}

const shown = (families: readonly GaugeFamily[]) =>
  families.flatMap(({ name, samples }) => [...samples()].map(([pairs, value]) => `${name}${pairs} ${value}`))

const of =
  'node_name="node",managed="true",nodepool="web",zone="westus2-1",instance_type="Standard_D4s_v5",arch="amd64",capacity_type="spot",sku_cpu="4"'

test('nodes with what they have, what their pods ask for and their age; the cluster and its pools', () => {
  const lines = shown(nodeGauges(cluster, () => now))
  expect(lines.filter((line) => line.includes('node_name="node"'))).toEqual([
    `karpenter_nodes_allocatable{${of},resource_type="cpu"} 4`,
    `karpenter_nodes_allocatable{${of},resource_type="memory"} ${8 * 2 ** 30}`,
    `karpenter_nodes_total_pod_requests{${of},resource_type="cpu"} 2`,
    `karpenter_nodes_total_pod_requests{${of},resource_type="memory"} ${2 * 2 ** 30}`,
    `karpenter_nodes_total_pod_requests{${of},resource_type="pods"} 2`,
    `karpenter_nodes_total_pod_limits{${of},resource_type="cpu"} 2`,
    `karpenter_nodes_total_daemon_requests{${of},resource_type="cpu"} 0.5`,
    `karpenter_nodes_total_daemon_requests{${of},resource_type="memory"} 0`,
    `karpenter_nodes_total_daemon_requests{${of},resource_type="pods"} 1`,
    `karpenter_nodes_system_overhead{${of},resource_type="cpu"} 0.5`,
    `karpenter_nodes_system_overhead{${of},resource_type="memory"} 0`,
    `karpenter_nodes_current_lifetime_seconds{${of}} 3600`,
  ])
  expect(lines).toContain(
    'karpenter_nodes_current_lifetime_seconds{node_name="other",managed="false",nodepool="default",zone="zone-1"} 1800',
  )
  expect(lines).toContain('karpenter_cluster_utilization_percent{resource_type="cpu"} 25')
  expect(lines.filter((line) => line.includes('nodepools'))).toEqual([
    'karpenter_nodepools_limit{nodepool="web",resource_type="cpu"} 100',
    'karpenter_nodepools_usage{nodepool="web",resource_type="cpu"} 4',
    'karpenter_nodepools_usage{nodepool="web",resource_type="nodes"} 1',
  ])
})

test('a Node that finalizers of others hold is a series', () => {
  const metadata = { ...node.metadata, deletionTimestamp: '2026-01-01T00:59:00Z', finalizers: ['example.com/backup'] }
  const nodes = new Map([...cluster.nodes, ['node', { ...node, metadata }]])
  const held = (of: typeof cluster) => shown(nodeGauges(of, () => now)).filter((line) => line.includes('finalizers'))
  expect(held({ ...cluster, nodes })).toEqual(['joiner_nodes_held_by_finalizers{node_name="node"} 1'])
  expect(held(cluster)).toEqual([])
})

test('a node and its pods are where its NodeClaim says, whatever its kubelet writes', () => {
  const metadata = {
    ...node.metadata,
    labels: { ...node.metadata.labels, [labels.nodePool]: 'other', [labels.zone]: 'x' },
  }
  const lying = { ...cluster, nodes: new Map([['node', { ...node, metadata }]]) }
  const lines = (of: typeof cluster) => shown([...nodeGauges(of, () => now), podStates(of)])
  const own = (line: string) => /node(_name)?="node"/.test(line)
  expect(lines(lying).filter(own)).toEqual(lines(cluster).filter(own))
})

test('pods with their owner, their node and their phase', () => {
  const ready: Pod = {
    ...samplePod('web-0', { metadata: ownedBy('StatefulSet'), ...bound }),
    conditions: [{ type: 'Ready', status: 'True' }],
  }
  const state = podStates({ ...cluster, pods: { values: () => [ready, samplePod('waiting')] } })
  expect(shown([state])).toEqual([
    'karpenter_pods_state{name="web-0",namespace="default",owner="/apis/apps/v1/namespaces/default/statefulsets/owner",scheduled="true",phase="Running",ready="true",' +
      'node="node",nodepool="web",zone="westus2-1",arch="amd64",capacity_type="spot",instance_type="Standard_D4s_v5",managed="true"} 1',
    'karpenter_pods_state{name="waiting",namespace="default",scheduled="false",phase="Pending",ready="false",managed="false"} 1',
  ])
})

test('conditions and deletions, by the names of a kind and by the older ones', () => {
  const deleted = sampleClaim('web', {
    metadata: { deletionTimestamp: '2026-01-01T00:59:30Z', labels: { [labels.nodePool]: 'web' } },
    status: {
      conditions: [
        { type: 'Launched', status: 'True', reason: 'Launched', lastTransitionTime: '2026-01-01T00:59:00Z' },
      ],
    },
  })
  const families = conditionGauges(
    (kind) => (kind === 'NodeClaim' ? [deleted] : []),
    () => now,
  )
  const old = 'name="web-claim",group="karpenter.sh",kind="NodeClaim"'
  const own = 'name="web-claim",karpenter_sh_nodepool="web"'
  const condition = 'type="Launched",status="True",reason="Launched"'
  expect(shown(families)).toEqual([
    `operator_nodeclaim_status_condition_count{${own},${condition}} 1`,
    `operator_nodeclaim_status_condition_current_status_seconds{${own},${condition}} 60`,
    `operator_nodeclaim_termination_current_time_seconds{${own}} 30`,
    `operator_status_condition_count{${old},${condition}} 1`,
    `operator_status_condition_current_status_seconds{${old},${condition}} 60`,
    `operator_termination_current_time_seconds{${old}} 30`,
  ])
})
