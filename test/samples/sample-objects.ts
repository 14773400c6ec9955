import type { EvaluationSettings } from '../../core/disruption/evaluate.ts'
import { neverFirst } from '../../core/disruption/methods/context.ts'
import { joinerPolicy } from '../../core/disruption/policy.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import type { RepairRule } from '../../core/node-repair/repair-policy.ts'
import type { Condition, Node, NodeClaim, NodePool, ObjectMeta, Pod, RequirementSpec } from '../../core/objects.ts'
import { wellKnownLabels } from '../../core/requirements/labels.ts'
import { requirements } from '../../core/requirements/requirements.ts'
import { parseResources } from '../../core/resources.ts'

/** Sample objects for tests: minimal valid ones, with the changes that a test makes. */

type Amounts = Readonly<Record<string, string | number>>

/** The moment at which sample objects were created: 2026-01-01T00:00:00Z. */
export const sampleTime = Date.UTC(2026, 0, 1)

export function sampleMeta(name: string, change: Partial<ObjectMeta> = {}): ObjectMeta {
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    creationTimestamp: new Date(sampleTime).toISOString(),
    labels: {},
    annotations: {},
    finalizers: [],
    ownerReferences: [],
    ...change,
  }
}

type PodChange = Partial<Omit<Pod, 'kind' | 'metadata' | 'requests'>> & {
  readonly metadata?: Partial<ObjectMeta>
  readonly requests?: Amounts
}

/** A pending pod of half a core that the scheduler could not place. */
export function samplePod(name: string, { metadata, requests, ...change }: PodChange = {}): Pod {
  return {
    kind: 'Pod',
    metadata: sampleMeta(name, { namespace: 'default', ...metadata }),
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
    requests: parseResources({ cpu: '500m', memory: '512Mi', pods: 1, ...requests }),
    limits: {},
    nodeSelector: {},
    tolerations: [],
    topologySpreadConstraints: [],
    hostPorts: [],
    persistentVolumeClaims: [],
    resourceClaims: [],
    terminationGracePeriodSeconds: 30,
    ...change,
  }
}

export function ownedBy(kind: string, apiVersion = 'apps/v1'): Partial<ObjectMeta> {
  return { ownerReferences: [{ apiVersion, kind, name: 'owner', uid: 'uid-owner', controller: true }] }
}

type NodeChange = Partial<Omit<Node, 'kind' | 'metadata' | 'capacity' | 'allocatable'>> & {
  readonly metadata?: Partial<ObjectMeta>
  readonly allocatable?: Amounts
}

/** A ready node of four cores, registered and initialized, of the claim `<name>-claim` in the pool `default`. */
export function sampleNode(name: string, { metadata, allocatable, ...change }: NodeChange = {}): Node {
  const amounts = parseResources(allocatable ?? { cpu: 4, memory: '16Gi', pods: 110 })
  const { labels, ...others } = metadata ?? {}
  return {
    kind: 'Node',
    metadata: sampleMeta(name, {
      labels: {
        'kubernetes.io/hostname': name,
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
        'topology.kubernetes.io/zone': 'zone-1',
        ...labels,
      },
      ...others,
    }),
    providerId: `azure:///${name}`,
    taints: [],
    unschedulable: false,
    capacity: amounts,
    allocatable: amounts,
    conditions: [{ type: 'Ready', status: 'True' }],
    ...change,
  }
}

/** Returns a condition whose status changed at `at` (epoch ms). */
export function sampleCondition(type: string, status: Condition['status'] = 'True', at = sampleTime): Condition {
  return { type, status, reason: type, message: '', lastTransitionTime: new Date(at).toISOString() }
}

interface ClaimChange {
  readonly metadata?: Partial<ObjectMeta>
  readonly spec?: Partial<NodeClaim['spec']>
  readonly status?: Partial<NodeClaim['status']>
}

/** The claim of `sampleNode(name)`: launched, registered and initialized. */
export function sampleClaim(nodeName: string, { metadata, spec, status }: ClaimChange = {}): NodeClaim {
  const amounts = parseResources({ cpu: 4, memory: '16Gi', pods: 110 })
  return {
    kind: 'NodeClaim',
    metadata: sampleMeta(`${nodeName}-claim`, { labels: { 'karpenter.sh/nodepool': 'default' }, ...metadata }),
    spec: {
      taints: [],
      startupTaints: [],
      requirements: [],
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requests: parseResources({ cpu: '500m', memory: '512Mi', pods: 1 }),
      ...spec,
    },
    status: {
      nodeName,
      providerId: `azure:///${nodeName}`,
      capacity: amounts,
      allocatable: amounts,
      conditions: [sampleCondition('Launched'), sampleCondition('Registered'), sampleCondition('Initialized')],
      ...status,
    },
  }
}

interface PoolChange extends Partial<Omit<NodePool, 'kind' | 'metadata' | 'template' | 'limits' | 'disruption'>> {
  readonly spec?: Partial<NodePool['template']['spec']>
  readonly labels?: Readonly<Record<string, string>>
  readonly limits?: Amounts
  readonly disruption?: Partial<NodePool['disruption']>
}

export function samplePool(
  name = 'default',
  { spec, labels, limits, disruption, ...change }: PoolChange = {},
): NodePool {
  return {
    kind: 'NodePool',
    metadata: sampleMeta(name),
    template: {
      labels: labels ?? {},
      annotations: {},
      spec: {
        taints: [],
        startupTaints: [],
        requirements: [],
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        ...spec,
      },
    },
    disruption: {
      consolidateAfter: '30s',
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      budgets: [],
      ...disruption,
    },
    limits: parseResources(limits),
    weight: 0,
    isStatic: false,
    conditions: [],
    ...change,
  }
}

/** A type of so many cores and four times the GiB, in three zones, spot at 30 % of the price. */
export function sampleType(name: string, cpu: number, extra: readonly RequirementSpec[] = []): InstanceType {
  const offer = (zone: string, capacityType: string, price: number) => ({
    requirements: requirements([
      { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
    ]),
    price,
    available: true,
  })
  const zones = ['zone-1', 'zone-2', 'zone-3']
  return {
    name,
    requirements: requirements([
      { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [name] },
      { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
      { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
      { key: 'topology.kubernetes.io/zone', operator: 'In', values: zones },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
      ...extra,
    ]),
    offerings: zones.flatMap((zone) => [offer(zone, 'on-demand', cpu * 0.05), offer(zone, 'spot', cpu * 0.015)]),
    capacity: parseResources({ cpu, memory: `${cpu * 4}Gi`, pods: 110 }),
    overhead: {},
  }
}

/** A policy by which a condition is repaired once that has lasted so long. */
export function samplePolicy(type: string, status: Condition['status'], change: Partial<RepairRule> = {}): RepairRule {
  const { reasonPattern } = change
  const matches = (reason: string) => reasonPattern !== undefined && new RegExp(reasonPattern).test(reason)
  return { type, status, tolerationMs: 0, priority: 0, action: 'ReplaceNode', matches, ...change }
}

// Settings of evaluations for tests.

/** Joiner's own decisions with these instance types, by NodePool, and no gate on. */
export function sampleEvaluation(
  instanceTypes: EvaluationSettings['instanceTypes'],
  change: Partial<EvaluationSettings> = {},
): EvaluationSettings {
  return {
    instanceTypes,
    wellKnown: wellKnownLabels,
    scheduling: {},
    spotToSpot: false,
    terminateFirst: neverFirst,
    policy: joinerPolicy,
    ...change,
  }
}
