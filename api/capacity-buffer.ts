import { z } from 'zod'
import { conditionList, crdExtensions, resourceList } from './fields.ts'

const localName = z.object({ name: z.string().min(1).describe('Name of the PodTemplate, in the same namespace.') })

const scalableRef = z.object({
  apiGroup: z.string().optional().describe('API group of the workload, such as apps; unset means the core group.'),
  kind: z.string().min(1).describe('Kind of the workload, such as Deployment.'),
  name: z.string().min(1).describe('Name of the workload, in the same namespace.'),
})

const count = z.int().min(0).meta({ format: 'int32' })

export const capacityBufferSpec = z
  .object({
    provisioningStrategy: z
      .string()
      .default('buffer.x-k8s.io/active-capacity')
      .describe('Provisioning strategy: buffer.x-k8s.io/active-capacity keeps nodes running for the buffer.'),
    podTemplateRef: localName
      .optional()
      .describe('Shape of one pod of the buffer. Requires replicas or limits, and excludes scalableRef.'),
    scalableRef: scalableRef
      .optional()
      .describe(
        "Workload whose pods define the shape of the buffer's pods, such as a Deployment. Excludes podTemplateRef.",
      ),
    replicas: count.optional().describe('Number of pods to keep room for.'),
    percentage: count
      .optional()
      .describe(
        'The same as a share of the replicas of scalableRef, rounded up. With replicas too, the smaller counts.',
      ),
    limits: resourceList.optional().describe("Maximum sum of the resources that the buffer's pods request."),
  })
  .describe('Desired spare capacity.')
  .register(crdExtensions, {
    cel: [
      {
        rule: '!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)',
        message: "'podTemplateRef' needs 'replicas' or 'limits', or the buffer would have no size",
      },
      {
        rule: '!has(self.podTemplateRef) || !has(self.scalableRef)',
        message: "set one of 'podTemplateRef' and 'scalableRef', not both",
      },
    ],
  })

export const capacityBufferStatus = z
  .object({
    podTemplateRef: localName.optional().describe('PodTemplate in use.'),
    replicas: z.int().optional().meta({ format: 'int32' }).describe('Current number of pods of the buffer.'),
    podTemplateGeneration: z
      .int()
      .optional()
      .meta({ format: 'int64' })
      .describe('Generation of the PodTemplate in use.'),
    provisioningStrategy: z.string().optional().describe('Provisioning strategy in use.'),
    conditions: conditionList.optional(),
  })
  .describe('Observed state of the buffer.')
