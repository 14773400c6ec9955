// Objects of a small cluster as they travel, for tests.
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import type { PriceOf } from '../../core/cost/report.ts'
import type { WaitingClass } from '../../core/scheduling/explain/waiting-classes.ts'
import { ClusterModel } from '../../starter/picture/watch/cluster-model.ts'
import type { ClusterView } from '../../starter/picture/watch/cluster-view.ts'
import {
  type ClaimFact,
  claimFact,
  type NodeFact,
  nodeFact,
  type PodFact,
  podFact,
} from '../../starter/picture/watch/facts.ts'

export const now = Date.UTC(2026, 0, 2)
export const created = '2026-01-01T00:00:00Z'

export const meta = (name: string, more: Json = {}) => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: created,
  ...more,
})

export function node(
  name: string,
  { providerID = `azure:///${name}`, labels = {}, ready = 'True', ...spec }: Json = {},
): Json {
  return {
    metadata: meta(name, {
      labels: {
        'karpenter.sh/registered': 'true',
        'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
        ...(labels as object),
      },
    }),
    spec: { providerID, ...spec },
    status: {
      allocatable: { cpu: '3800m', memory: '14Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: ready, reason: ready === 'True' ? 'KubeletReady' : 'NodeStatusUnknown' }],
    },
  }
}

const phases = ['Launched', 'Registered', 'Initialized'] as const

export function claim(name: string, { at = 3, providerID, nodeName, conditions = [], ...more }: Json = {}): Json {
  const met = phases.slice(0, at as number).map((type) => ({ type, status: 'True', lastTransitionTime: created }))
  return {
    metadata: meta(name, {
      labels: {
        'karpenter.sh/nodepool': 'general',
        'karpenter.sh/capacity-type': 'spot',
        'topology.kubernetes.io/zone': 'westus2-1',
        'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
      },
      ...more,
    }),
    spec: { requirements: [], nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' } },
    status: {
      providerID,
      nodeName,
      allocatable: { cpu: '4', memory: '15Gi', pods: '110' },
      conditions: [...met, ...(conditions as Json[])],
    },
  }
}

export function pod(name: string, { nodeName, cpu = '500m', phase = 'Running', ...more }: Json = {}): Json {
  return {
    metadata: meta(name, { namespace: 'shop', ...more }),
    spec: { nodeName, containers: [{ resources: { requests: { cpu, memory: '1Gi' } } }] },
    status: { phase, conditions: [] },
  }
}

export const waitingPod = (name: string, message: string) => ({
  ...pod(name, { phase: 'Pending' }),
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  },
})

export interface Objects {
  readonly nodes?: readonly Json[]
  readonly claims?: readonly Json[]
  readonly pods?: readonly Json[]
  readonly waiting?: readonly WaitingClass[]
}

export function facts({ nodes = [], claims = [], pods = [], waiting }: Objects): ClusterFacts {
  return {
    nodes: nodes.map(nodeFact),
    claims: claims.map(claimFact),
    pods: pods.flatMap((json) => podFact(json) ?? []),
    nodePools: ['general', 'empty'],
    priceOf: (size, capacityType) => (size === 'Standard_D4s_v5' ? (capacityType === 'spot' ? 0.05 : 0.2) : undefined),
    ...(waiting && { waiting }),
  }
}

/** Facts of a cluster by the keys of their objects. */
interface ClusterFacts {
  readonly pods: Iterable<PodFact>
  readonly nodes: Iterable<NodeFact>
  readonly claims: Iterable<ClaimFact>
  readonly nodePools: Iterable<string>
  readonly priceOf?: PriceOf
  readonly waiting?: readonly WaitingClass[]
}

/** Returns the view of a cluster at `now` (epoch ms). */
export function buildView(
  { pods, nodes, claims, nodePools, priceOf, waiting }: ClusterFacts,
  now: number,
): ClusterView {
  const model = new ClusterModel()
  for (const pod of pods) model.setPod(pod.key, pod)
  for (const node of nodes) model.setNode(node.metadata.name, node)
  for (const claim of claims) model.setClaim(claim.metadata.name, claim)
  for (const name of nodePools) model.setNodePool(name, true)
  if (priceOf !== undefined) model.setPrices(priceOf)
  if (waiting !== undefined) model.setWaiting(waiting)
  model.takeChange(now)
  return model.view(now)
}
