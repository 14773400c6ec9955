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
      .describe('Disruption reasons that the budget applies to. Defaults to all.')
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
      .describe('Limits on the number of nodes disrupted at the same time. The most restrictive active budget applies.')
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
    .describe('Taints applied to the nodes.')
    .register(crdExtensions, { listType: 'atomic' }),
  startupTaints: z
    .array(taintField)
    .optional()
    .describe('Taints applied to nodes at startup, which another controller removes before pods can run.')
    .register(crdExtensions, { listType: 'atomic' }),
  requirements: requirementList({ nodePoolAllowed: false }).describe('Requirements on the labels of the nodes.'),
  nodeClassRef: nodeClassRef.describe('Reference to the AKSNodeClass of the nodes.').register(crdExtensions, {
    cel: [
      { rule: 'self.group == oldSelf.group', message: 'nodeClassRef.group is immutable' },
      { rule: 'self.kind == oldSelf.kind', message: 'nodeClassRef.kind is immutable' },
    ],
  }),
  terminationGracePeriod: durationField('48h')
    .optional()
    .describe('Maximum duration of a drain before remaining pods are deleted.'),
  expireAfter: nillableDuration.default('720h').describe('Age at which a node expires and is replaced, or Never.'),
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
              .describe('Annotations applied to NodeClaims and nodes.')
              .register(crdExtensions, { mapType: 'granular' }),
          })
          .optional()
          .describe('Labels and annotations of the nodes.'),
        spec: templateSpec.describe('Specification of the NodeClaims.'),
      })
      .describe(
        'What the nodes of the pool are like. A change makes nodes drift, and they are replaced within the budgets.',
      ),
    disruption: disruption.prefault({ consolidateAfter: '0s' }).describe('When and how fast nodes may be disrupted.'),
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
      .describe('NodePools with a higher weight are considered first. Defaults to 0.'),
    replicas: z
      .int()
      .min(0)
      .optional()
      .meta({ format: 'int64' })
      .describe(
        'A fixed number of nodes, whether pods need them or not: a static pool. Goes with no weight and with no limits but nodes, and cannot be added or removed later.',
      ),
  })
  .describe('Desired nodes of the NodePool, their limits, and their disruption.')
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
    resources: resourceList.optional().describe("Total resources and number of the NodePool's nodes."),
    nodes: z.int().default(0).meta({ format: 'int64' }).describe("Number of the NodePool's nodes."),
    nodeClassObservedGeneration: z
      .int()
      .optional()
      .meta({ format: 'int64' })
      .describe('Generation of the AKSNodeClass that the condition NodeRegistrationHealthy refers to.'),
    conditions: conditionList.optional(),
  })
  .describe('Observed state of the NodePool.')
