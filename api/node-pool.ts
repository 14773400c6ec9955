import { z } from 'zod'
import {
  conditionList,
  crdExtensions,
  durationField,
  nillableDuration,
  nodeClassRef,
  requirementList,
  resourceList,
  taintField,
  templateLabels,
} from './fields.ts'

const budget = z.object({
  nodes: z
    .string()
    .regex(/^((100|[0-9]{1,2})%|[0-9]+)$/)
    .default('10%')
    .describe('How many nodes may be disrupted at once: a number or a percentage.'),
  reasons: z
    .array(z.enum(['Underutilized', 'Empty', 'Drifted', 'Unhealthy']))
    .max(50)
    .optional()
    .describe('Reasons that the budget is for; all when unset.')
    .register(crdExtensions, { listType: 'set' }),
  schedule: z
    .string()
    .regex(/^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$/)
    .optional()
    .describe('Cron schedule in UTC at which the budget begins; always when unset.'),
  duration: z
    .string()
    .regex(/^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$/)
    .optional()
    .describe('How long the budget holds from each hit of its schedule.'),
})

const disruption = z.object({
  consolidateAfter: nillableDuration
    .default('0s')
    .describe('How long a node is left alone after the last pod came or went, or Never.'),
  consolidationPolicy: z
    .enum(['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'])
    .default('WhenEmptyOrUnderutilized')
    .describe('Which nodes may be consolidated.'),
  budgets: z
    .array(budget)
    .max(50)
    .default([{ nodes: '10%' }])
    .describe('Limits on how many nodes are disrupted at once.')
    .register(crdExtensions, {
      cel: [
        { rule: 'self.all(x, has(x.schedule) == has(x.duration))', message: "'schedule' must be set with 'duration'" },
      ],
    }),
})

const templateSpec = z.object({
  taints: z
    .array(taintField)
    .optional()
    .describe('Taints that the nodes keep.')
    .register(crdExtensions, { listType: 'atomic' }),
  startupTaints: z
    .array(taintField)
    .optional()
    .describe('Taints that somebody else removes when a node is ready for pods.')
    .register(crdExtensions, { listType: 'atomic' }),
  requirements: requirementList({ nodePoolAllowed: false }).describe('What the labels of the nodes must meet.'),
  nodeClassRef: nodeClassRef.describe('The AKSNodeClass of the nodes.').register(crdExtensions, {
    cel: [
      { rule: 'self.group == oldSelf.group', message: 'nodeClassRef.group is immutable' },
      { rule: 'self.kind == oldSelf.kind', message: 'nodeClassRef.kind is immutable' },
    ],
  }),
  terminationGracePeriod: durationField('48h').optional().describe('The longest time that a drain may take.'),
  expireAfter: nillableDuration.default('720h').describe('Age at which a node is replaced, or Never.'),
})

export const nodePoolSpec = z
  .object({
    template: z.object({
      metadata: z
        .object({ labels: templateLabels.optional(), annotations: z.record(z.string(), z.string()).optional() })
        .optional(),
      spec: templateSpec,
    }),
    disruption: disruption.default({
      consolidateAfter: '0s',
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      budgets: [{ nodes: '10%' }],
    }),
    limits: resourceList.optional().describe('The most of each resource that the nodes of the pool may have together.'),
    weight: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ format: 'int32' })
      .describe('Pools of higher weight are tried first.'),
    replicas: z
      .int()
      .min(0)
      .optional()
      .meta({ format: 'int64' })
      .describe('A fixed number of nodes (static pool; not supported yet).'),
  })
  .register(crdExtensions, {
    cel: [
      {
        rule: 'has(self.replicas) == has(oldSelf.replicas)',
        message:
          'Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes',
      },
      {
        rule: "!has(self.replicas) || (!has(self.limits) || self.limits.all(k, k == 'nodes'))",
        message: "only 'limits.nodes' is supported on static NodePools",
      },
      { rule: '!has(self.replicas) || !has(self.weight)', message: "'weight' is not supported on static NodePools" },
    ],
  })

export const nodePoolStatus = z.object({
  resources: resourceList.optional(),
  nodes: z.int().default(0).meta({ format: 'int64' }),
  nodeClassObservedGeneration: z.int().optional().meta({ format: 'int64' }),
  conditions: conditionList.optional(),
})
