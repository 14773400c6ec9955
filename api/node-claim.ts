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
} from './fields.ts'

export const nodeClaimSpec = z
  .object({
    taints: z
      .array(taintField)
      .optional()
      .describe('Taints that the node keeps.')
      .register(crdExtensions, { listType: 'atomic' }),
    startupTaints: z
      .array(taintField)
      .optional()
      .describe('Taints that somebody else removes when the node is ready for pods.')
      .register(crdExtensions, { listType: 'atomic' }),
    requirements: requirementList({ nodePoolAllowed: true }).describe("What the node's labels must meet."),
    resources: z
      .object({ requests: resourceList.optional() })
      .optional()
      .describe('What the node must at least have room for.'),
    nodeClassRef: nodeClassRef.describe('The AKSNodeClass of the node.'),
    terminationGracePeriod: durationField('48h').optional().describe('The longest time that the drain may take.'),
    expireAfter: nillableDuration.default('720h').describe('Age at which the node is replaced, or Never.'),
  })
  .register(crdExtensions, { cel: [{ rule: 'self == oldSelf', message: 'spec is immutable' }] })

export const nodeClaimStatus = z.object({
  nodeName: z.string().optional(),
  providerID: z.string().optional(),
  imageID: z.string().optional(),
  capacity: resourceList.optional(),
  allocatable: resourceList.optional(),
  conditions: conditionList.optional(),
  lastPodEventTime: z.string().optional().meta({ format: 'date-time' }),
})
