import type { z } from 'zod'
import { capacityBufferSpec, capacityBufferStatus } from '../api/capacity-buffer.ts'
import { oldNodeClaimSpec, oldNodeClaimStatus, oldNodePoolSpec, oldNodePoolStatus } from '../api/conversion/v1beta1.ts'
import { nodeClaimSpec, nodeClaimStatus } from '../api/node-claim.ts'
import { nodeClassSpec, nodeClassStatus } from '../api/node-class.ts'
import { nodeOverlaySpec, nodeOverlayStatus } from '../api/node-overlay.ts'
import { nodePoolSpec, nodePoolStatus } from '../api/node-pool.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly priority?: number
}

/** What an object looks like in one version. */
interface Shape {
  readonly spec: z.ZodType
  readonly status: z.ZodType
  readonly columns: readonly Column[]
  readonly scale?: Readonly<Record<string, unknown>>
}

export interface Version {
  readonly name: string
  readonly storage: boolean
  /** Where it differs from the stored version; objects are converted then. */
  readonly shape?: Shape
  /** Warning for those who use it; the version is deprecated. */
  readonly deprecationWarning?: string
  /** Not served, and there for objects that are stored in it. Where the chart's values ask for it, Joiner serves it (workers/conversion). */
  readonly unserved?: true
}

export interface Definition extends Shape {
  readonly group: string
  readonly kind: string
  readonly namespaced?: boolean
  readonly plural: string
  readonly shortNames?: readonly string[]
  readonly categories: readonly string[]
  readonly versions: readonly Version[]
  readonly description: string
  readonly specOptional?: boolean
}

const ready: Column = { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' }
const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }
const machineType: Column = {
  name: 'Type',
  type: 'string',
  jsonPath: '.metadata.labels.node\\.kubernetes\\.io/instance-type',
}
const capacity: Column = { name: 'Capacity', type: 'string', jsonPath: '.metadata.labels.karpenter\\.sh/capacity-type' }
const zone: Column = { name: 'Zone', type: 'string', jsonPath: '.metadata.labels.topology\\.kubernetes\\.io/zone' }
const node: Column = { name: 'Node', type: 'string', jsonPath: '.status.nodeName' }
const owners: readonly Column[] = [
  { name: 'NodePool', type: 'string', jsonPath: '.metadata.labels.karpenter\\.sh/nodepool', priority: 1 },
  { name: 'NodeClass', type: 'string', jsonPath: '.spec.nodeClassRef.name', priority: 1 },
]
const poolClass: Column = { name: 'NodeClass', type: 'string', jsonPath: '.spec.template.spec.nodeClassRef.name' }
const weight: Column = { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 }
const deprecated = (kind: string) => `karpenter.sh/v1beta1 ${kind} is deprecated; "joiner convert FILE" writes v1`

/** The CRDs: what is the same for all objects of a kind, and the schemas that the rest follows from. */
export const definitions: readonly Definition[] = [
  {
    group: 'karpenter.sh',
    kind: 'NodePool',
    plural: 'nodepools',
    categories: ['karpenter', 'nap'],
    versions: [
      { name: 'v1', storage: true },
      {
        name: 'v1beta1',
        storage: false,
        deprecationWarning: deprecated('NodePool'),
        shape: {
          spec: oldNodePoolSpec,
          status: oldNodePoolStatus,
          columns: [poolClass, { ...weight, type: 'string' }],
        },
      },
    ],
    description:
      'A kind of node that pods may cause to be created: what the nodes are like, how many there may be, and when they may be replaced or removed.',
    spec: nodePoolSpec,
    status: nodePoolStatus,
    columns: [
      poolClass,
      { name: 'Nodes', type: 'string', jsonPath: '.status.nodes' },
      ready,
      age,
      weight,
      { name: 'CPU', type: 'string', jsonPath: '.status.resources.cpu', priority: 1 },
      { name: 'Memory', type: 'string', jsonPath: '.status.resources.memory', priority: 1 },
    ],
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.nodes' },
  },
  {
    group: 'karpenter.sh',
    kind: 'NodeClaim',
    plural: 'nodeclaims',
    categories: ['karpenter', 'nap'],
    versions: [
      { name: 'v1', storage: true },
      {
        name: 'v1beta1',
        storage: false,
        // The API server would have each written NodeClaim converted for watchers of this version, and nobody watches it.
        unserved: true,
        deprecationWarning: deprecated('NodeClaim'),
        shape: {
          spec: oldNodeClaimSpec,
          status: oldNodeClaimStatus,
          columns: [machineType, zone, node, ready, age, { ...capacity, priority: 1 }, ...owners],
        },
      },
    ],
    description:
      'One node, wanted or existing: made from a NodePool when pods need it, and deleting it drains and removes the node.',
    spec: nodeClaimSpec,
    status: nodeClaimStatus,
    columns: [
      machineType,
      capacity,
      zone,
      node,
      ready,
      age,
      ...owners,
      { name: 'Drifted', type: 'string', jsonPath: '.status.conditions[?(@.type=="Drifted")].status', priority: 1 },
    ],
  },
  {
    group: 'karpenter.azure.com',
    kind: 'AKSNodeClass',
    plural: 'aksnodeclasses',
    shortNames: ['aksnc', 'aksncs'],
    categories: ['karpenter', 'nap'],
    versions: [
      { name: 'v1beta1', storage: true },
      {
        name: 'v1alpha2',
        storage: false,
        deprecationWarning: 'karpenter.azure.com/v1alpha2 AKSNodeClass is deprecated; v1beta1 has the same fields',
      },
    ],
    description: 'The Azure side of a NodePool: image, disk, subnet and kubelet settings of its machines.',
    spec: nodeClassSpec,
    specOptional: true,
    status: nodeClassStatus,
    columns: [ready, age, { name: 'ImageFamily', type: 'string', jsonPath: '.spec.imageFamily', priority: 1 }],
  },
  {
    group: 'karpenter.sh',
    kind: 'NodeOverlay',
    plural: 'nodeoverlays',
    shortNames: ['overlays'],
    categories: ['karpenter'],
    versions: [{ name: 'v1alpha1', storage: true }],
    description:
      'A correction of what is known of offerings: their price, or extended resources that their nodes will have.',
    spec: nodeOverlaySpec,
    status: nodeOverlayStatus,
    columns: [ready, age, weight],
  },
  {
    group: 'autoscaling.x-k8s.io',
    kind: 'CapacityBuffer',
    namespaced: true,
    plural: 'capacitybuffers',
    shortNames: ['cb'],
    categories: ['autoscaling'],
    versions: [{ name: 'v1beta1', storage: true }],
    description: 'Room that is kept free for pods to come, so that they need not wait for a new node.',
    spec: capacityBufferSpec,
    status: capacityBufferStatus,
    columns: [
      { name: 'Strategy', type: 'string', jsonPath: '.spec.provisioningStrategy' },
      { name: 'PodTemplate', type: 'string', jsonPath: '.status.podTemplateRef.name' },
      { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas' },
      { name: 'ConditionsType', type: 'string', jsonPath: '.status.conditions[*].type' },
      { name: 'ConditionsStatus', type: 'string', jsonPath: '.status.conditions[*].status' },
      { name: 'ConditionsReason', type: 'string', jsonPath: '.status.conditions[*].reason' },
      age,
    ],
  },
]
