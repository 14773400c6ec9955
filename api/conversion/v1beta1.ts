// NodePool and NodeClaim as v1beta1 had them, for manifests of those years.
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
    z.string().regex(/^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9.]+)?$/),
  )
  .register(crdExtensions, {
    cel: [{ rule: `self.all(x, x in ${resourceNames})`, message: `valid keys are ${resourceNames}` }],
  })

const signals =
  "['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available']"
const bySignal = (values: z.ZodString) =>
  z.record(z.string(), values).register(crdExtensions, {
    cel: [{ rule: `self.all(x, x in ${signals})`, message: `valid keys are ${signals}` }],
  })
const threshold = z
  .string()
  .regex(
    /^((\d{1,2}(\.\d{1,2})?|100(\.0{1,2})?)%|[+-]?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9.]+)?|)$/,
  )

const subset = (part: string, whole: string) => ({
  rule: `has(self.${part}) ? self.${part}.all(e, e in self.${whole}) : true`,
  message: `every signal in ${part} needs an entry in ${whole}`,
})

const kubelet = z
  .object({
    clusterDNS: z.array(z.string()).optional().describe('Addresses of the DNS servers of pods.'),
    maxPods: count.optional().describe('How many pods the node may have.'),
    podsPerCore: count.optional().describe('How many pods the node may have per core; maxPods stays the most.'),
    systemReserved: reserved.optional().describe('What is kept for the operating system.'),
    kubeReserved: reserved.optional().describe('What is kept for kubelet and the container runtime.'),
    evictionHard: bySignal(threshold).optional().describe('Below which rest pods are evicted at once.'),
    evictionSoft: bySignal(threshold).optional().describe('Below which rest pods are evicted after a grace period.'),
    evictionSoftGracePeriod: bySignal(z.string()).optional().describe('Those grace periods, such as 1m30s.'),
    evictionMaxPodGracePeriod: z
      .int()
      .optional()
      .meta({ format: 'int32' })
      .describe('The most seconds that a pod has to end when it is evicted for a soft threshold.'),
    imageGCHighThresholdPercent: percent.optional().describe('Disk usage above which unused images are removed.'),
    imageGCLowThresholdPercent: percent.optional().describe('Disk usage down to which unused images are removed.'),
    cpuCFSQuota: z.boolean().optional().describe("Whether containers' CPU limits are enforced."),
  })
  .describe('Settings of kubelet. In v1 they are a matter of the AKSNodeClass.')
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
    .array(today.element.extend({ operator: operator.describe("How the label's value relates to the values.") }))
    .max(100)
    .describe('What the labels of the nodes must meet.')
    .register(crdExtensions, crdExtensions.get(today) ?? {})
}

const nodeSpec = z.object({
  taints: z.array(taintField).optional().describe('Taints that the nodes keep.'),
  startupTaints: z.array(taintField).optional().describe('Taints that somebody else removes when a node is ready.'),
  kubelet: kubelet.optional(),
  nodeClassRef: z
    .object({
      name: z.string().describe('Name of the AKSNodeClass.'),
      kind: z.string().optional().describe('Kind of the node class; AKSNodeClass when unset.'),
      apiVersion: z.string().optional().describe('Group and version of it; karpenter.azure.com when unset.'),
    })
    .describe('The AKSNodeClass of the nodes.'),
})

const requests = z.object({ requests: resourceList.optional() })

const budget = z
  .object({
    nodes: budgetNodes,
    schedule: budgetSchedule.optional(),
    duration: budgetDuration.optional(),
  })
  .register(crdExtensions, { required: ['nodes'] })

const disruption = z
  .object({
    consolidationPolicy: z
      .enum(['WhenEmpty', 'WhenUnderutilized'])
      .default('WhenUnderutilized')
      .describe('Which nodes may be consolidated.'),
    consolidateAfter: nillableDuration
      .optional()
      .describe('How long a node must have been empty; goes with WhenEmpty.'),
    expireAfter: nillableDuration.default('720h').describe('Age at which a node is replaced, or Never.'),
    budgets: z
      .array(budget)
      .max(50)
      .default([{ nodes: '10%' }])
      .describe('Limits on how many nodes may be disrupted at once.')
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
    .describe('When and how fast nodes may be replaced or removed.'),
  limits,
  weight,
})

export const oldNodePoolStatus = nodePoolStatus.omit({ nodes: true, nodeClassObservedGeneration: true })

export const oldNodeClaimStatus = nodeClaimStatus.omit({ lastPodEventTime: true })

export const oldNodeClaimSpec = nodeSpec.extend({
  requirements: requirements({ nodePoolAllowed: true }),
  resources: requests.optional().describe('What the node must at least have room for.'),
})
