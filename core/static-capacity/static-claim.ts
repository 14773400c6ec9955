import {
  claimLabels,
  staticClaimRequirements,
  type TemplateInput,
  templateRequirements,
} from '../node-pool/node-claim-template.ts'
import type { NodePool } from '../objects.ts'
import { wellKnownLabels } from '../requirements/labels.ts'
import { serializeAll } from '../requirements/requirements.ts'
import { noResources } from '../resources.ts'
import type { PlannedNodeClaim } from '../scheduling/snapshot.ts'

export function templateOf({ metadata, template }: NodePool): TemplateInput {
  const { requirements, nodeClassRef } = template.spec
  return { nodePool: metadata.name, labels: template.labels, nodeClassRef, requirements }
}

/** Returns the NodeClaim that a static pool's template asks for, whatever the types are (reference/karpenter-core.md 3.16). */
export function staticClaim(nodePool: NodePool, wellKnown: ReadonlySet<string> = wellKnownLabels): PlannedNodeClaim {
  const template = templateOf(nodePool)
  const wanted = templateRequirements(template)
  return {
    nodePool: nodePool.metadata.name,
    requirements: serializeAll(staticClaimRequirements(wanted)),
    wanted,
    labels: claimLabels(template, wanted, wellKnown),
    instanceTypes: [],
    requests: noResources,
    pods: [],
    price: 0,
  }
}
