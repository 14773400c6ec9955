import { isTrue } from '../../../core/conditions.ts'
import { shortfalls } from '../../../core/node-claim/consistency.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { hasPassed } from '../../../core/values/time.ts'
import { forEachOf } from '../../concurrency.ts'
import { perCache } from '../cache/per-cache.ts'
import { setClaimConditions, updateClaim, updateNode } from '../client/object-writes.ts'
import { subject } from '../event-recorder.ts'
import type { Parts, WriteDeps } from '../parts.ts'
import { claimNode } from './claim-nodes.ts'

export type ClaimUpkeepDeps = WriteDeps & Pick<Parts, 'log'>

const concurrency = 20

/** Interval of comparing a node's resources (reference/karpenter-core.md 5.2). */
const consistencyMs = 10 * 60_000

/** When a claim was last compared with its Node, in this process. After a restart it is compared once more. */
const checkedAtOf = perCache(() => new Map<string, number>())

/**
 * Maintains all NodeClaims that are not being deleted, from the cache: old ones and their Nodes get the label of their node class, and
 * initialized ones are compared with the resources of their Nodes (reference/karpenter-core.md 5.2).
 */
export async function keepUpClaims(deps: ClaimUpkeepDeps): Promise<void> {
  const claims = [...deps.cache.nodeClaims.values()].filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const known = new Set(claims.map(({ metadata }) => metadata.uid))
  const checkedAt = checkedAtOf(deps)
  for (const uid of checkedAt.keys()) if (!known.has(uid)) checkedAt.delete(uid)
  await forEachOf(claims, concurrency, async (claim) => {
    const node = claimNode(deps, claim)
    await hydrate(deps, claim, node)
    if (node !== undefined && isTrue(claim.status.conditions, 'Initialized')) await checkConsistency(deps, claim, node)
  })
}

async function hydrate(deps: ClaimUpkeepDeps, claim: NodeClaim, node: Node | undefined): Promise<void> {
  const { name } = claim.spec.nodeClassRef
  const patch = ({ metadata }: NodeClaim | Node) =>
    metadata.labels[labels.nodeClass] === undefined ? { metadata: { labels: { [labels.nodeClass]: name } } } : undefined
  if (patch(claim) !== undefined) await updateClaim(deps, claim.metadata, patch)
  const isRegistered = isTrue(claim.status.conditions, 'Registered')
  if (isRegistered && node !== undefined && patch(node) !== undefined) await updateNode(deps, node.metadata.name, patch)
}

async function checkConsistency(deps: ClaimUpkeepDeps, claim: NodeClaim, node: Node): Promise<void> {
  const { uid, name } = claim.metadata
  const checkedAt = checkedAtOf(deps)
  const last = checkedAt.get(uid)
  if (last !== undefined && !hasPassed(consistencyMs, last, deps.now())) return
  checkedAt.set(uid, deps.now())
  const found = shortfalls(claim, node)
  for (const message of found) {
    deps.log.warn(
      { nodeClaim: name, node: node.metadata.name, why: message },
      'node has less capacity than its instance type',
    )
    deps.events.record({ about: subject(claim), reason: 'FailedConsistencyCheck', message, values: [uid, message] })
  }
  const type = 'ConsistentStateFound'
  await setClaimConditions(deps, claim.metadata, (current) =>
    current.metadata.deletionTimestamp !== undefined
      ? undefined
      : {
          conditions: [
            found.length === 0
              ? { type, status: 'True' }
              : { type, status: 'False', reason: 'ConsistencyCheckFailed', message: 'Consistency Check Failed' },
          ],
        },
  )
}
