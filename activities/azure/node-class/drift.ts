import { isTrue } from '../../../core/conditions.ts'
import { azureDrift } from '../../../core/drift/azure-drift.ts'
import { azureDriftChange, type Drift, type DriftChange } from '../../../core/drift/drift.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { forEachOf } from '../../concurrency.ts'
import { setClaimConditions } from '../../kubernetes/client/object-writes.ts'
import { claimNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { type DriftActions, driftActionOf } from '../machines/machine-drift.ts'
import type { AzureParts } from '../parts.ts'

export type DriftDeps = WriteDeps & Pick<AzureParts, 'log' | 'config'>

const concurrency = 20

/**
 * Keeps the condition Drifted of every NodeClaim up to date, as far as AKSNodeClasses decide it. Reads only the cache, and writes a claim only
 * when its condition changes. Drift from a NodePool comes first, and is kept by the planner (`keepClaimConditions`). `actions`: what AKS says of its
 * machines; what it said before stays where that was not read.
 */
export async function refreshDrift(deps: DriftDeps, actions: DriftActions = new Map()): Promise<void> {
  await forEachOf([...deps.cache.nodeClaims.values()], concurrency, (claim) => refreshClaim(deps, claim, actions))
}

async function refreshClaim(deps: DriftDeps, seen: NodeClaim, actions: DriftActions): Promise<void> {
  let reported: DriftChange | undefined
  const after = await setClaimConditions(deps, seen.metadata, (claim) => {
    reported =
      claim.metadata.deletionTimestamp === undefined
        ? azureDriftChange(claim, azureDriftOf(deps, claim, actions))
        : undefined
    return reported
  })
  if (reported === undefined || after === undefined) return
  const [drift] = 'conditions' in reported ? reported.conditions : []
  const isDrifted = isTrue(after.status.conditions, 'Drifted')
  deps.log.info(
    { nodeClaim: seen.metadata.name, ...(isDrifted ? { reason: drift?.reason, why: drift?.message } : {}) },
    isDrifted ? 'node has drifted' : 'node is no longer drifted',
  )
}

/** Returns a claim's drift from its AKSNodeClass, by the cache. Logs when it cannot be determined. */
export function azureDriftOf(
  { cache, config, log }: DriftDeps,
  claim: NodeClaim,
  actions: DriftActions = new Map(),
): Drift {
  const nodePool = cache.nodePools.get(claim.metadata.labels[labels.nodePool] ?? '')
  const node = claimNode({ cache }, claim)
  const drift = azureDrift({
    claim,
    nodePool,
    nodeClass: nodePool && cache.nodeClasses.get(nodePool.template.spec.nodeClassRef.name),
    node,
    kubeletIdentityClientId: config.kubeletIdentityClientId,
    machineDriftAction: driftActionOf(actions, claim),
  })
  if (drift.kind === 'unknown' && isTrue(claim.status.conditions, 'Launched'))
    log.warn({ nodeClaim: claim.metadata.name, why: drift.message }, 'drift could not be determined')
  return drift
}
