import { isTrue } from '../conditions.ts'
import { replacementsInUse } from '../disruption/replacements-in-use.ts'
import {
  claimLabels,
  staticClaimRequirements,
  templateOf,
  templateRequirements,
} from '../node-pool/node-claim-template.ts'
import type { NodeClaim, NodePool } from '../objects.ts'
import { annotations, wellKnownLabels } from '../requirements/labels.ts'
import { serializeAll } from '../requirements/requirements.ts'
import { noResources } from '../resources.ts'
import type { PlannedNodeClaim } from '../scheduling/snapshot.ts'
import type { StaticMarks } from './pool-count.ts'

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

/**
 * Returns the NodeClaims that wait for their replacement while missing ones are counted: those with a command's stamp. It is written after the
 * replacements. A node that is only marked may be released again, and counts as one that stays.
 */
export function stampedClaims(claims: Iterable<NodeClaim>): StaticMarks {
  return marks(claims, isStamped)
}

/** Returns the NodeClaims that wait for their replacement while surplus ones are counted: also those of which a command may be about to begin. */
export function markedClaims(claims: Iterable<NodeClaim>): StaticMarks {
  return marks(claims, (claim) => isStamped(claim) || isTrue(claim.status.conditions, 'DisruptionReason'))
}

/** Returns the NodeClaims that a disruption command decides about until it ends: those that it replaces, and their replacements. */
export function claimsOfCommands(claims: readonly NodeClaim[]): ReadonlySet<NodeClaim> {
  return new Set([...claims.filter(isStamped), ...replacementsInUse(claims)])
}

const isStamped = ({ metadata }: NodeClaim) => metadata.annotations[annotations.disruptionCommand] !== undefined

function marks(claims: Iterable<NodeClaim>, isPending: (claim: NodeClaim) => boolean): StaticMarks {
  const pendingDisruption = new Set<string>()
  for (const claim of claims) if (isPending(claim)) pendingDisruption.add(claim.metadata.name)
  return { markedForDeletion: new Set(), pendingDisruption }
}
