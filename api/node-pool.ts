import { z } from 'zod'
import {
  budgetDuration,
  budgetNodes,
  budgetSchedule,
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

const budget = z
  .object({
    nodes: budgetNodes,
    reasons: z
      .array(z.enum(['Underutilized', 'Empty', 'Drifted', 'Unhealthy']))
      .max(50)
      .optional()
      .describe('The reasons for disruption that the budget limits; all of them when unset.')
      .register(crdExtensions, { listType: 'set' }),
    schedule: budgetSchedule.optional(),
    duration: budgetDuration.optional(),
  })
  .register(crdExtensions, { required: ['nodes'] })

const disruption = z
  .object({
    consolidateAfter: nillableDuration
      .default('0s')
      .describe(
        'How long a node is left alone after a pod last came or went before it may be consolidated, such as 5m; Never switches consolidation off.',
      ),
    consolidationPolicy: z
      .enum(['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'])
      .default('WhenEmptyOrUnderutilized')
      .describe(
        'Which nodes may be consolidated: WhenEmpty those without pods that matter, WhenEmptyOrUnderutilized also those whose pods fit elsewhere or on cheaper nodes, Balanced the same where the saving is worth the disturbance.',
      ),
    budgets: z
      .array(budget)
      .max(50)
      .default([{ nodes: '10%' }])
      .describe('Limits on how many nodes may be disrupted at once. Of the budgets in force the smallest counts.')
      .register(crdExtensions, {
        listType: 'atomic',
        cel: [
          {
            rule: 'self.all(x, has(x.schedule) == has(x.duration))',
            message: "'schedule' must be set with 'duration'",
          },
        ],
      }),
  })
  .register(crdExtensions, { required: ['consolidateAfter'] })

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
    template: z
      .object({
        metadata: z
          .object({
            labels: templateLabels.optional(),
            annotations: z
              .record(z.string(), z.string())
              .optional()
              .describe('Annotations of the NodeClaims and the nodes.')
              .register(crdExtensions, { mapType: 'granular' }),
          })
          .optional()
          .describe('Labels and annotations of the nodes.'),
        spec: templateSpec.describe('Taints, requirements and lifetime of the nodes.'),
      })
      .describe(
        'What the nodes of the pool are like. A change makes nodes drift, and they are replaced within the budgets.',
      ),
    disruption: disruption
      .prefault({ consolidateAfter: '0s' })
      .describe('When and how fast nodes may be replaced or removed.'),
    limits: resourceList
      .optional()
      .describe(
        'The most of each resource, such as cpu, memory or nodes, that the nodes of the pool may have together. No node is created beyond it; existing ones stay.',
      ),
    weight: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ format: 'int32' })
      .describe('Of several pools that could hold a pod, the one of the highest weight is used; unset counts as 0.'),
    replicas: z
      .int()
      .min(0)
      .optional()
      .meta({ format: 'int64' })
      .describe(
        'A fixed number of nodes, whether pods need them or not: a static pool. Goes with no weight and with no limits but nodes, and cannot be added or removed later.',
      ),
  })
  .describe('Which nodes the pool may have, how many, and when they may be disrupted.')
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

export const nodePoolStatus = z
  .object({
    resources: resourceList
      .optional()
      .describe('What the nodes of the pool have together, and how many nodes there are.'),
    nodes: z.int().default(0).meta({ format: 'int64' }).describe('How many nodes the pool has.'),
    nodeClassObservedGeneration: z
      .int()
      .optional()
      .meta({ format: 'int64' })
      .describe('The generation of the AKSNodeClass that NodeRegistrationHealthy speaks of.'),
    conditions: conditionList.optional(),
  })
  .describe('How the pool is doing.')
