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
      .describe('How the room is kept: buffer.x-k8s.io/active-capacity keeps nodes running for it.'),
    podTemplateRef: localName
      .optional()
      .describe('What one pod of the buffer asks for. Goes with replicas or limits, and not with scalableRef.'),
    scalableRef: scalableRef
      .optional()
      .describe("A workload whose pods the buffer's are like, such as a Deployment. Not together with podTemplateRef."),
    replicas: count.optional().describe('For how many pods there is to be room.'),
    percentage: count
      .optional()
      .describe(
        'The same as a share of the replicas of scalableRef, rounded up. With replicas too, the smaller counts.',
      ),
    limits: resourceList.optional().describe('The most that the pods of the buffer may ask for together.'),
  })
  .describe('How much room is kept free for pods to come, and of which shape.')
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
    podTemplateRef: localName.optional().describe('The PodTemplate that is in use.'),
    replicas: z.int().optional().meta({ format: 'int32' }).describe('How many pods the buffer stands for now.'),
    podTemplateGeneration: z
      .int()
      .optional()
      .meta({ format: 'int64' })
      .describe('The generation of the PodTemplate that is in use.'),
    provisioningStrategy: z.string().optional().describe('The strategy that is in use.'),
    conditions: conditionList.optional(),
  })
  .describe('What became of the buffer.')
