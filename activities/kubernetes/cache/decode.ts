import { nodePoolSpec } from '../../../api/node-pool.ts'
import type {
  NodeClaimSpecJson,
  NodeClaimStatusJson,
  NodeClass,
  NodeClassStatusJson,
  NodePoolSpecJson,
  NodePoolStatusJson,
} from '../../../api/objects.ts'
import { withDefaults } from '../../../api/served.ts'
import { nodePoolHash } from '../../../core/node-pool/node-pool-hash.ts'
import type {
  Condition,
  LabelSelector,
  Node,
  NodeClaim,
  NodeClaimSpec,
  NodeOverlay,
  NodePool,
  PodDisruptionBudget,
  RequirementSpec,
  Taint,
} from '../../../core/objects.ts'
import type { DaemonSet, VolumeAttachment } from '../../../core/pods/related-objects.ts'
import { parseResources } from '../../../core/resources.ts'
import { defined } from '../../../core/values/defined.ts'
import type { Json } from '../client/answers.ts'
import { decodeMeta, type Text } from './decode-meta.ts'
import { type ContainerJson, decodePod, type PodSpecJson } from './decode-pod.ts'

export function decodeNode(json: Json): Node {
  const spec = (json['spec'] ?? {}) as { providerID?: string; taints?: Taint[]; unschedulable?: boolean }
  const status = (json['status'] ?? {}) as {
    capacity?: Text
    allocatable?: Text
    conditions?: Condition[]
    nodeInfo?: { kubeletVersion?: string; bootID?: string }
  }
  const { kubeletVersion, bootID } = status.nodeInfo ?? {}
  return {
    kind: 'Node',
    metadata: decodeMeta(json),
    taints: spec.taints ?? [],
    unschedulable: spec.unschedulable ?? false,
    capacity: parseResources(status.capacity),
    allocatable: parseResources(status.allocatable),
    conditions: status.conditions ?? [],
    ...(spec.providerID ? { providerId: spec.providerID } : {}),
    ...(kubeletVersion ? { kubeletVersion } : {}),
    ...(bootID ? { bootId: bootID } : {}),
  }
}

type ClaimSpecJson = NodePoolSpecJson['template']['spec']

/** Decodes a claim's spec. A scenario may leave out requirements, which the API server rejects, and an age, which the API server fills in. */
function decodeClaimSpec(
  spec: Omit<ClaimSpecJson, 'requirements'> & Partial<Pick<ClaimSpecJson, 'requirements'>>,
): NodeClaimSpec {
  const { requirements = [], taints = [], startupTaints = [], nodeClassRef } = spec
  return {
    taints,
    startupTaints,
    requirements,
    nodeClassRef,
    ...defined({ terminationGracePeriod: spec.terminationGracePeriod, expireAfter: spec.expireAfter }),
  }
}

export function decodeNodeClaim(json: Json): NodeClaim {
  const spec = json['spec'] as NodeClaimSpecJson
  const status = (json['status'] ?? {}) as NodeClaimStatusJson
  return {
    kind: 'NodeClaim',
    metadata: decodeMeta(json),
    spec: { ...decodeClaimSpec(spec), requests: parseResources(spec.resources?.requests) },
    status: {
      capacity: parseResources(status.capacity),
      allocatable: parseResources(status.allocatable),
      conditions: status.conditions ?? [],
      ...(status.nodeName ? { nodeName: status.nodeName } : {}),
      ...(status.providerID ? { providerId: status.providerID } : {}),
      ...(status.imageID ? { imageId: status.imageID } : {}),
      ...(status.lastPodEventTime ? { lastPodEventTime: status.lastPodEventTime } : {}),
    },
  }
}

export function decodeNodePool(json: Json): NodePool {
  const spec = json['spec'] as NodePoolSpecJson
  const { conditions, resources, nodes, nodeClassObservedGeneration } = (json['status'] ?? {}) as NodePoolStatusJson
  return {
    kind: 'NodePool',
    metadata: decodeMeta(json),
    template: {
      labels: spec.template.metadata?.labels ?? {},
      annotations: spec.template.metadata?.annotations ?? {},
      spec: decodeClaimSpec(spec.template.spec),
      hash: nodePoolHash(spec.template),
    },
    disruption: withDefaults(nodePoolSpec.shape.disruption, spec.disruption),
    limits: parseResources(spec.limits),
    weight: spec.weight ?? 0,
    isStatic: spec.replicas !== undefined,
    ...defined({ replicas: spec.replicas }),
    conditions: conditions ?? [],
    ...(resources === undefined ? {} : { resources: parseResources(resources) }),
    ...defined({ nodes, nodeClassObservedGeneration }),
  }
}

interface NodeOverlaySpecJson {
  readonly requirements?: readonly RequirementSpec[]
  readonly price?: string
  readonly priceAdjustment?: string
  readonly capacity?: Text
  readonly weight?: number
}

export function decodeNodeOverlay(json: Json): NodeOverlay {
  const { requirements, price, priceAdjustment, capacity, weight } = (json['spec'] ?? {}) as NodeOverlaySpecJson
  return {
    kind: 'NodeOverlay',
    metadata: decodeMeta(json),
    requirements: requirements ?? [],
    ...defined({ price, priceAdjustment }),
    capacity: parseResources(capacity),
    weight: weight ?? 0,
    conditions: ((json['status'] ?? {}) as { conditions?: readonly Condition[] }).conditions ?? [],
  }
}

export function decodeNodeClass(json: Json): NodeClass {
  const status = (json['status'] ?? {}) as NodeClassStatusJson
  return {
    kind: 'AKSNodeClass',
    metadata: decodeMeta(json),
    spec: json['spec'] ?? {},
    status: {
      images: status.images ?? [],
      conditions: status.conditions ?? [],
      ...defined({ kubernetesVersion: status.kubernetesVersion, localDnsState: status.localDNSState }),
    },
  }
}

/** Decodes a DaemonSet as the pod that it puts on nodes; a container's limits replace requests that it does not set. */
export function decodeDaemonSet(json: Json): DaemonSet {
  const metadata = decodeMeta(json)
  const template = (
    (json['spec'] ?? {}) as { template: { metadata?: { labels?: Text; annotations?: Text }; spec: PodSpecJson } }
  ).template
  const withRequests = (containers: ContainerJson[] | undefined) =>
    (containers ?? []).map((container) => ({
      ...container,
      resources: {
        ...container.resources,
        requests: { ...container.resources?.limits, ...container.resources?.requests },
      },
    }))
  const pod = decodePod({
    metadata: {
      ...(json['metadata'] as object),
      labels: template.metadata?.labels,
      annotations: template.metadata?.annotations,
    },
    spec: {
      ...template.spec,
      containers: withRequests(template.spec.containers),
      initContainers: withRequests(template.spec.initContainers),
    },
  })
  return { kind: 'DaemonSet', metadata, pod }
}

export function decodePodDisruptionBudget(json: Json): PodDisruptionBudget {
  const spec = (json['spec'] ?? {}) as {
    selector?: LabelSelector
    minAvailable?: number | string
    maxUnavailable?: number | string
    unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow'
  }
  const status = (json['status'] ?? {}) as { disruptionsAllowed?: number }
  return {
    kind: 'PodDisruptionBudget',
    metadata: decodeMeta(json),
    disruptionsAllowed: status.disruptionsAllowed ?? 0,
    ...defined({
      selector: spec.selector,
      minAvailable: spec.minAvailable,
      maxUnavailable: spec.maxUnavailable,
      unhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy,
    }),
  }
}

export function decodeVolumeAttachment(json: Json): VolumeAttachment {
  const spec = json['spec'] as { nodeName: string; source?: { persistentVolumeName?: string } }
  return {
    kind: 'VolumeAttachment',
    metadata: decodeMeta(json),
    nodeName: spec.nodeName,
    ...(spec.source?.persistentVolumeName === undefined
      ? {}
      : { persistentVolumeName: spec.source.persistentVolumeName }),
  }
}
