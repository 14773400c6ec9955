import type { NodePoolSpecJson } from '../../../api/objects.ts'
import { conditionOf } from '../../../core/conditions.ts'
import { nodePoolHash, nodePoolHashVersion } from '../../../core/node-pool/node-pool-hash.ts'
import type { NodePool, ObjectMeta } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { isNotFound } from '../client/api-error.ts'
import type { ObjectWritesDeps } from '../client/object-writes.ts'
import { updateClaim } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'

export interface NodePoolHashDeps extends ObjectWritesDeps {}

/**
 * Writes the drift hash of a pool and its version to its annotations. They follow from the template as it is stored, so it is read.
 * A version other than Joiner's is first replaced on the pool's claims, so that none is compared by a hash of another kind
 * (reference/karpenter-core.md 5.2).
 */
export async function stampPoolHash(deps: NodePoolHashDeps, { metadata }: NodePool): Promise<void> {
  const path = resourcePath('nodepools', metadata.name)
  try {
    const json = await deps.client.get(path)
    const hash = nodePoolHash((json['spec'] as NodePoolSpecJson).template)
    const wanted = { [annotations.nodePoolHash]: hash, [annotations.nodePoolHashVersion]: nodePoolHashVersion }
    const own = (json['metadata'] as Partial<ObjectMeta>).annotations ?? {}
    if (own[annotations.nodePoolHashVersion] !== nodePoolHashVersion) await rehashClaims(deps, metadata.name, hash)
    if (Object.entries(wanted).every(([key, value]) => own[key] === value)) return
    const patch = { metadata: { uid: metadata.uid, annotations: wanted } }
    deps.cache.upsert('NodePool', await deps.client.mergePatch(path, patch))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Rehashes claims. One that has drifted keeps its hash: its state before the versions changed is unknown. */
async function rehashClaims(deps: NodePoolHashDeps, pool: string, hash: string): Promise<void> {
  await deps.cache.catchUp(['NodeClaim'])
  const claims = deps.cache.nodeClaims.by('byNodePool', pool)
  await Promise.all(
    claims.map((claim) =>
      updateClaim(deps, claim.metadata, ({ metadata, status }) => {
        if (metadata.annotations[annotations.nodePoolHashVersion] === nodePoolHashVersion) return undefined
        const drifted = conditionOf(status.conditions, 'Drifted') !== undefined
        const stamped = {
          [annotations.nodePoolHashVersion]: nodePoolHashVersion,
          ...(drifted ? {} : { [annotations.nodePoolHash]: hash }),
        }
        return { metadata: { annotations: stamped } }
      }),
    ),
  )
}
