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
      .describe('Taints that the node keeps.')
      .register(crdExtensions, { listType: 'atomic' }),
    startupTaints: z
      .array(taintField)
      .optional()
      .describe('Taints that somebody else removes when the node is ready for pods.')
      .register(crdExtensions, { listType: 'atomic' }),
    requirements: requirementList({ nodePoolAllowed: true }).describe("What the node's labels must meet."),
    resources: z
      .object({
        requests: resourceList.optional().describe('The sum that the pods and daemons planned for the node ask for.'),
      })
      .optional()
      .describe('What the node must at least have room for.'),
    nodeClassRef: nodeClassRef.describe('The AKSNodeClass of the node.'),
    terminationGracePeriod: durationField('48h').optional().describe('The longest time that the drain may take.'),
    expireAfter: nillableDuration.default('720h').describe('Age at which the node is replaced, or Never.'),
  })
  .describe('The node that is wanted. It never changes: another wish is another NodeClaim.')
  .register(crdExtensions, { cel: [{ rule: 'self == oldSelf', message: 'spec is immutable' }] })

export const nodeClaimStatus = z
  .object({
    nodeName: z.string().optional().describe('Name of the Node, once it has joined the cluster.'),
    providerID: z
      .string()
      .optional()
      .describe('Id of the virtual machine as the Node carries it: azure:// and the ARM id.'),
    imageID: z.string().optional().describe('Id of the image that the machine was created from.'),
    capacity: resourceList
      .optional()
      .describe('All of the resources of the machine; an estimate until the node is initialized.'),
    allocatable: resourceList.optional().describe('What of the capacity pods may ask for.'),
    conditions: lenientConditionList.optional(),
    lastPodEventTime: z
      .string()
      .optional()
      .meta({ format: 'date-time' })
      .describe("When a pod last came to the node or left it; the pool's consolidateAfter counts from here."),
  })
  .describe('What is known of the machine and its node.')
