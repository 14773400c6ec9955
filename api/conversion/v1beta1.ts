// NodePool and NodeClaim in v1beta1, for old manifests.
import { z } from 'zod'
import {
  budgetDuration,
  budgetNodes,
  budgetSchedule,
  crdExtensions,
  nillableDuration,
  requirementList,
  resourceList,
  taintField,
} from '../fields.ts'
import { nodeClaimStatus } from '../node-claim.ts'
import { nodePoolSpec, nodePoolStatus } from '../node-pool.ts'

const percent = z.int().min(0).max(100).meta({ format: 'int32' })
const count = z.int().min(0).meta({ format: 'int32' })

const resourceNames = "['cpu', 'memory', 'ephemeral-storage', 'pid']"
const reserved = z
  .record(
    z.string(),
    z
      .string()
      .regex(
        /^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9.]+)?$/,
        'write a quantity such as 500m or 2Gi',
      ),
  )
  .register(crdExtensions, {
    cel: [{ rule: `self.all(x, x in ${resourceNames})`, message: `valid keys are ${resourceNames}` }],
  })

const signals =
  "['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available']"
const bySignal = (values: z.ZodString) =>
  z
    .record(z.string(), values)
    .register(crdExtensions, { cel: [{ rule: `self.all(x, x in ${signals})`, message: `valid keys are ${signals}` }] })
const threshold = z
  .string()
  .regex(
    /^((\d{1,2}(\.\d{1,2})?|100(\.0{1,2})?)%|[+-]?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9.]+)?|)$/,
    'write a percentage such as 5%, or a quantity such as 100Mi',
  )

const subset = (part: string, whole: string) => ({
  rule: `has(self.${part}) ? self.${part}.all(e, e in self.${whole}) : true`,
  message: `every signal in ${part} needs an entry in ${whole}`,
})

const kubelet = z
  .object({
    clusterDNS: z.array(z.string()).optional().describe('IP addresses of the DNS servers that pods use.'),
    maxPods: count.optional().describe('Maximum number of pods on the node.'),
    podsPerCore: count.optional().describe('Maximum number of pods per core, up to maxPods.'),
    systemReserved: reserved.optional().describe('Resources reserved for the operating system.'),
    kubeReserved: reserved.optional().describe('Resources reserved for Kubernetes system components.'),
    evictionHard: bySignal(threshold).optional().describe('Hard eviction thresholds.'),
    evictionSoft: bySignal(threshold).optional().describe('Soft eviction thresholds.'),
    evictionSoftGracePeriod: bySignal(z.string())
      .optional()
      .describe('Grace periods of the soft eviction thresholds, such as 1m30s.'),
    evictionMaxPodGracePeriod: z
      .int()
      .optional()
      .meta({ format: 'int32' })
      .describe('Maximum termination grace period in seconds for pods evicted by a soft threshold.'),
    imageGCHighThresholdPercent: percent
      .optional()
      .describe('Disk usage in percent above which image garbage collection always runs.'),
    imageGCLowThresholdPercent: percent
      .optional()
      .describe('Disk usage in percent down to which image garbage collection removes images.'),
    cpuCFSQuota: z.boolean().optional().describe('Enforces the CPU limits of containers (CFS quota).'),
  })
  .describe('Settings of kubelet. In v1 they are fields of the AKSNodeClass.')
  .register(crdExtensions, {
    cel: [
      {
        rule: 'has(self.imageGCHighThresholdPercent) && has(self.imageGCLowThresholdPercent) ? self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent : true',
        message: 'imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent',
      },
      subset('evictionSoft', 'evictionSoftGracePeriod'),
      subset('evictionSoftGracePeriod', 'evictionSoft'),
    ],
  })

function requirements(options: { readonly nodePoolAllowed: boolean }) {
  const today = requirementList(options)
  const operator = z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'])
  return z
    .array(today.element.extend({ operator: operator.describe('Operator that relates the label to the values.') }))
    .max(100)
    .describe('Requirements on the labels of the nodes.')
    .register(crdExtensions, crdExtensions.get(today) ?? {})
}

const nodeSpec = z.object({
  taints: z.array(taintField).optional().describe('Taints applied to the nodes.'),
  startupTaints: z
    .array(taintField)
    .optional()
    .describe('Taints applied to nodes at startup, which another controller removes before pods can run.'),
  kubelet: kubelet.optional(),
  nodeClassRef: z
    .object({
      name: z.string().describe('Name of the AKSNodeClass.'),
      kind: z.string().optional().describe('Kind of the node class. Defaults to AKSNodeClass.'),
      apiVersion: z.string().optional().describe('API version of the node class. Defaults to karpenter.azure.com.'),
    })
    .describe('Reference to the AKSNodeClass of the nodes.'),
})

const requests = z.object({ requests: resourceList.optional() })

const budget = z
  .object({ nodes: budgetNodes, schedule: budgetSchedule.optional(), duration: budgetDuration.optional() })
  .register(crdExtensions, { required: ['nodes'] })

const disruption = z
  .object({
    consolidationPolicy: z
      .enum(['WhenEmpty', 'WhenUnderutilized'])
      .default('WhenUnderutilized')
      .describe('Policy that selects the nodes to consolidate.'),
    consolidateAfter: nillableDuration
      .optional()
      .describe('Duration that a node must be empty before it is consolidated. Valid with WhenEmpty only.'),
    expireAfter: nillableDuration.default('720h').describe('Age at which a node expires and is replaced, or Never.'),
    budgets: z
      .array(budget)
      .max(50)
      .default([{ nodes: '10%' }])
      .describe('Limits on the number of nodes disrupted at the same time.')
      .register(crdExtensions, {
        cel: [
          {
            rule: 'self.all(x, has(x.schedule) == has(x.duration))',
            message: "'schedule' must be set with 'duration'",
          },
        ],
      }),
  })
  .register(crdExtensions, {
    cel: [
      {
        rule: "has(self.consolidateAfter) ? self.consolidationPolicy != 'WhenUnderutilized' || self.consolidateAfter == 'Never' : true",
        message: 'consolidateAfter cannot be combined with consolidationPolicy=WhenUnderutilized',
      },
      {
        rule: "self.consolidationPolicy == 'WhenEmpty' ? has(self.consolidateAfter) : true",
        message: 'consolidateAfter must be specified with consolidationPolicy=WhenEmpty',
      },
    ],
  })

const { template, limits, weight } = nodePoolSpec.shape

export const oldNodePoolSpec = z.object({
  template: z.object({
    metadata: template.shape.metadata,
    spec: nodeSpec.extend({
      requirements: requirements({ nodePoolAllowed: false }),
      resources: requests.optional().meta({ maxProperties: 0 }),
    }),
  }),
  disruption: disruption
    .prefault({ consolidationPolicy: 'WhenUnderutilized', expireAfter: '720h' })
    .describe('When and how fast nodes may be disrupted.'),
  limits,
  weight,
})

export const oldNodePoolStatus = nodePoolStatus.omit({ nodes: true, nodeClassObservedGeneration: true })

export const oldNodeClaimStatus = nodeClaimStatus.omit({ lastPodEventTime: true })

export const oldNodeClaimSpec = nodeSpec.extend({
  requirements: requirements({ nodePoolAllowed: true }),
  resources: requests.optional().describe('Resources that the node must have room for.'),
})
