import { ApplicationFailure } from '@temporalio/common'
import { notBeingDeleted } from '../../../core/node-claim/lifecycle.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { decodeNode } from '../cache/decode.ts'
import type { ClaimRef } from '../contract.ts'
import type { WriteDeps } from '../parts.ts'
import { getIfAny } from './answers.ts'
import { guardedPatch } from './json-patch.ts'
import { type Patch, patchOf, writeOptimistically } from './optimistic-write.ts'
import { resourcePath } from './resources.ts'
import {
  cachedObject,
  liveObject,
  type StatusChange,
  setConditions,
  updateObject,
  updateStatus,
} from './status-writes.ts'

/** Returns the claim as the cache has it; undefined when it is gone or its name belongs to another claim. */
export function cachedClaim(deps: WriteDeps, ref: ClaimRef): NodeClaim | undefined {
  return cachedObject(deps, 'NodeClaim', ref)
}

/**
 * Returns a claim, read past the cache unless the cache knows of its deletion: an object that is being deleted gets no new finalizer, and only a
 * restore of etcd takes a deletion back, after which caches are filled again (docs/lost-nodes.md).
 */
export async function liveUnlessDeleting(deps: WriteDeps, ref: ClaimRef): Promise<NodeClaim | undefined> {
  const known = cachedClaim(deps, ref)
  return known?.metadata.deletionTimestamp === undefined ? liveClaim(deps, ref) : known
}

/**
 * Returns the claim of an irreversible step; undefined when it is gone. The step is refused for a claim that is not being deleted, whoever scheduled
 * it: Temporal decides when a step runs, the cluster whether (docs/temporal-access.md).
 * `read`: how the claim is read. Errors: the claim is not being deleted, which is not tried again: its lifecycle evaluates the claim instead.
 */
export async function claimBeingDeleted(
  deps: WriteDeps,
  ref: ClaimRef,
  read = liveUnlessDeleting,
): Promise<NodeClaim | undefined> {
  const claim = await read(deps, ref)
  if (claim !== undefined && claim.metadata.deletionTimestamp === undefined)
    throw ApplicationFailure.nonRetryable(
      `NodeClaim ${ref.name}: metadata.deletionTimestamp is not set, so neither its pods nor its VM are touched; to end the node: kubectl delete nodeclaim ${ref.name}`,
      notBeingDeleted,
    )
  return claim
}

/** Reads the claim from the API server. It enters the cache at once. */
export function liveClaim(deps: WriteDeps, ref: ClaimRef): Promise<NodeClaim | undefined> {
  return liveObject(deps, 'NodeClaim', ref)
}

/**
 * Changes a claim's metadata under an optimistic lock. `change` decides from the object it gets. After a conflict it is called again, with
 * the live object. Returns the claim as it is afterwards; undefined when it is gone.
 */
export function updateClaim(
  deps: WriteDeps,
  ref: ClaimRef,
  change: (claim: NodeClaim) => Patch,
): Promise<NodeClaim | undefined> {
  return updateObject(deps, { kind: 'NodeClaim', ref }, (claim, path) => {
    const patch = change(claim)
    return patch === undefined ? undefined : deps.client.mergePatch(path, patchOf(patch, claim.metadata))
  })
}

/** Changes the status subresource likewise: `change` returns the fields of `status`. */
export function updateClaimStatus(
  deps: WriteDeps,
  ref: ClaimRef,
  change: (claim: NodeClaim) => Patch,
): Promise<NodeClaim | undefined> {
  return updateStatus(deps, { kind: 'NodeClaim', ref }, change)
}

/** Sets conditions of a claim and what follows from them. `changes` returns nothing when nothing has to change. */
export function setClaimConditions(
  deps: WriteDeps,
  ref: ClaimRef,
  changes: (claim: NodeClaim) => StatusChange | undefined,
): Promise<NodeClaim | undefined> {
  return setConditions(deps, { kind: 'NodeClaim', ref }, changes)
}

/** Changes a Node, as `updateClaim` does, under a lock on the lists that are changed; undefined when it is gone. */
export function updateNode(deps: WriteDeps, name: string, change: (node: Node) => Patch): Promise<Node | undefined> {
  const path = resourcePath('nodes', name)
  return writeOptimistically({
    inTurn: (section) => deps.client.inTurn(path, section),
    cached: () => deps.cache.nodes.get(name),
    live: async () => {
      const json = await getIfAny(deps.client, path)
      return json && decodeNode(json)
    },
    write: (node) => {
      const patch = change(node)
      if (patch === undefined) return undefined
      const before = { metadata: node.metadata, spec: { taints: node.taints } }
      return deps.client.jsonPatch(path, guardedPatch(patch, before)).then((json) => {
        deps.cache.upsert('Node', json)
        return decodeNode(json)
      })
    },
  })
}
