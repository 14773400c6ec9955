import type { NodeClass } from '../../../api/objects.ts'
import { isTrue } from '../../../core/conditions.ts'
import { nodeClassHash, nodeClassHashVersion } from '../../../core/node-class/node-class-hash.ts'
import { annotations, nodeClassFinalizer } from '../../../core/requirements/labels.ts'
import type { ObjectWritesDeps } from '../../kubernetes/client/object-writes.ts'
import { updateClaim } from '../../kubernetes/client/object-writes.ts'
import { patchOf } from '../../kubernetes/client/optimistic-write.ts'
import { type ObjectRef, updateObject } from '../../kubernetes/client/status-writes.ts'

export interface DriftHashesDeps extends ObjectWritesDeps {}

/**
 * Writes a node class' finalizer, drift hash and the hash's version. Hashes of another version cannot be compared: then the claims are
 * updated first (reference/azure-provider.md 1.4 and 1.5). Returns the class as it is afterwards; undefined
 * when it is gone.
 */
export async function stampNodeClass(deps: DriftHashesDeps, nodeClass: NodeClass): Promise<NodeClass | undefined> {
  if (nodeClass.metadata.annotations[annotations.nodeClassHashVersion] !== nodeClassHashVersion) {
    await deps.cache.catchUp(['NodeClaim'])
    const claims = [...deps.cache.nodeClaims.values()].filter(
      ({ spec }) => spec.nodeClassRef.name === nodeClass.metadata.name,
    )
    await Promise.all(claims.map(({ metadata }) => rehashClaim(deps, metadata, hashes(nodeClass))))
  }
  return updateObject(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, (current, path) => {
    const { metadata } = current
    const wanted = hashes(current)
    const isHashed = Object.entries(wanted).every(([key, value]) => metadata.annotations[key] === value)
    const isHeld = metadata.finalizers.includes(nodeClassFinalizer) || metadata.deletionTimestamp !== undefined
    if (isHashed && isHeld) return undefined
    const finalizers = isHeld ? {} : { finalizers: [...metadata.finalizers, nodeClassFinalizer] }
    return deps.client.mergePatch(path, patchOf({ metadata: { annotations: wanted, ...finalizers } }, metadata))
  })
}

function hashes({ spec }: NodeClass): Record<string, string> {
  return {
    [annotations.nodeClassHash]: nodeClassHash(spec),
    [annotations.nodeClassHashVersion]: nodeClassHashVersion,
  }
}

/** Rehashes a claim. One that has drifted already keeps its hash: the difference is why it is replaced. */
function rehashClaim(
  deps: DriftHashesDeps,
  ref: ObjectRef,
  wanted: Readonly<Record<string, string>>,
): Promise<unknown> {
  return updateClaim(deps, ref, ({ metadata, status }) => {
    if (metadata.annotations[annotations.nodeClassHashVersion] === nodeClassHashVersion) return undefined
    const stamped = isTrue(status.conditions, 'Drifted')
      ? { [annotations.nodeClassHashVersion]: nodeClassHashVersion }
      : wanted
    return { metadata: { annotations: stamped } }
  })
}
