import { z } from 'zod'
import {
  crdExtensions,
  durationField,
  lenientConditionList,
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
      .describe('Taints applied to the node.')
      .register(crdExtensions, { listType: 'atomic' }),
    startupTaints: z
      .array(taintField)
      .optional()
      .describe('Taints applied to the node at startup, which another controller removes before pods can run.')
      .register(crdExtensions, { listType: 'atomic' }),
    requirements: requirementList({ nodePoolAllowed: true }).describe("Requirements on the node's labels."),
    resources: z
      .object({
        requests: resourceList.optional().describe('Sum of the requests of the pods and daemons planned for the node.'),
      })
      .optional()
      .describe('Resources that the node must have room for.'),
    nodeClassRef: nodeClassRef.describe('Reference to the AKSNodeClass of the node.'),
    terminationGracePeriod: durationField('48h')
      .optional()
      .describe('Maximum duration of the drain before remaining pods are deleted.'),
    expireAfter: nillableDuration.default('720h').describe('Age at which the node expires and is replaced, or Never.'),
  })
  .describe('Desired node. The spec is immutable.')
  .register(crdExtensions, { cel: [{ rule: 'self == oldSelf', message: 'spec is immutable' }] })

export const nodeClaimStatus = z
  .object({
    nodeName: z.string().optional().describe('Name of the Node. Set at registration.'),
    providerID: z.string().optional().describe('Provider id of the virtual machine: azure:// followed by its ARM id.'),
    imageID: z.string().optional().describe('Id of the image that the virtual machine was created from.'),
    capacity: resourceList.optional().describe('Total resources of the node. Estimated until the node is initialized.'),
    allocatable: resourceList.optional().describe('Resources that pods can request on the node.'),
    conditions: lenientConditionList.optional(),
    lastPodEventTime: z
      .string()
      .optional()
      .meta({ format: 'date-time' })
      .describe('Time of the last pod scheduled to or removed from the node. consolidateAfter counts from it.'),
  })
  .describe('Observed state of the node and its virtual machine.')
