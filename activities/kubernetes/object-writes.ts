import { type ConditionChange, claimDependents, withCondition, withReady } from '../../core/conditions.ts'
import type { Node, NodeClaim } from '../../core/objects.ts'
import type { ClaimRef } from '../azure/contract.ts'
import { isConflict, isNotFound, type Json } from './client.ts'
import { decodeNode, decodeNodeClaim } from './decode.ts'
import type { KubernetesDeps } from './dependencies.ts'
import { resourcePath } from './resources.ts'

/** How often a write that lost an optimistic lock is decided anew before the activity fails (and is retried as a whole). */
const conflictAttempts = 8

/** A merge patch of an object, without the lock; undefined: nothing to change. */
export type Patch = Readonly<Record<string, unknown>> | undefined

/** The claim as the cache has it; undefined when it is gone or its name belongs to another claim. */
export function cachedClaim(deps: KubernetesDeps, ref: ClaimRef): NodeClaim | undefined {
  const claim = deps.cache.nodeClaims.get(ref.name)
  return claim?.metadata.uid === ref.uid ? claim : undefined
}

/** The claim as the API server has it now. It enters the cache at once. */
export async function liveClaim(deps: KubernetesDeps, ref: ClaimRef): Promise<NodeClaim | undefined> {
  try {
    const json = await deps.client.get(resourcePath('nodeclaims', ref.name))
    deps.cache.upsert('NodeClaim', json)
    const claim = decodeNodeClaim(json)
    return claim.metadata.uid === ref.uid ? claim : undefined
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/**
 * Changes a claim's metadata under an optimistic lock. `change` decides from the object it is given and is asked again, with
 * the live object, when somebody else wrote first. Returns the claim as it is afterwards; undefined when it is gone.
 */
export function updateClaim(
  deps: KubernetesDeps,
  ref: ClaimRef,
  change: (claim: NodeClaim) => Patch,
): Promise<NodeClaim | undefined> {
  return writeClaim(deps, ref, change, (path, patch) => deps.client.mergePatch(path, patch))
}

/** The same for the status subresource: `change` returns the fields of `status`. */
export function updateClaimStatus(
  deps: KubernetesDeps,
  ref: ClaimRef,
  change: (claim: NodeClaim) => Patch,
): Promise<NodeClaim | undefined> {
  return writeClaim(
    deps,
    ref,
    (claim) => {
      const status = change(claim)
      return status === undefined ? undefined : { status }
    },
    (path, patch) => deps.client.patchStatus(path, patch),
  )
}

async function writeClaim(
  deps: KubernetesDeps,
  ref: ClaimRef,
  change: (claim: NodeClaim) => Patch,
  write: (path: string, patch: Json) => Promise<Json>,
): Promise<NodeClaim | undefined> {
  let claim = cachedClaim(deps, ref) ?? (await liveClaim(deps, ref))
  for (let attempt = 1; claim !== undefined; attempt++) {
    const patch = change(claim)
    if (patch === undefined) return claim
    try {
      const json = await write(
        resourcePath('nodeclaims', ref.name),
        locked(patch, claim.metadata.resourceVersion, claim.metadata.uid),
      )
      deps.cache.upsert('NodeClaim', json)
      return decodeNodeClaim(json)
    } catch (error) {
      if (isNotFound(error)) return undefined
      if (!isConflict(error) || attempt >= conflictAttempts) throw error
    }
    claim = await liveClaim(deps, ref)
  }
  return undefined
}

/** Changes a Node under an optimistic lock, as `updateClaim` does; undefined when it is gone. */
export async function updateNode(
  deps: KubernetesDeps,
  name: string,
  change: (node: Node) => Patch,
): Promise<Node | undefined> {
  let node: Node | undefined = deps.cache.nodes.get(name)
  for (let attempt = 1; ; attempt++) {
    try {
      if (node === undefined) node = decodeNode(await deps.client.get(resourcePath('nodes', name)))
      const patch = change(node)
      if (patch === undefined) return node
      const json = await deps.client.mergePatch(
        resourcePath('nodes', name),
        locked(patch, node.metadata.resourceVersion, node.metadata.uid),
      )
      deps.cache.upsert('Node', json)
      return decodeNode(json)
    } catch (error) {
      if (isNotFound(error)) return undefined
      if (!isConflict(error) || attempt >= conflictAttempts) throw error
      node = undefined
    }
  }
}

function locked(
  patch: Readonly<Record<string, unknown>>,
  resourceVersion: string,
  uid: string,
): Record<string, unknown> {
  const metadata = (patch['metadata'] ?? {}) as Record<string, unknown>
  return { ...patch, metadata: { ...metadata, ...(replacesLists(patch) ? { resourceVersion } : {}), uid } }
}

/** A merge patch of maps leaves what others wrote beside it. One that holds a list replaces the list, so it must come from the latest object. */
function replacesLists(patch: Readonly<Record<string, unknown>>): boolean {
  return Object.values(patch).some(
    (value) =>
      Array.isArray(value) ||
      (typeof value === 'object' && value !== null && replacesLists(value as Record<string, unknown>)),
  )
}

/** Sets conditions of a claim and what follows from them. `changes` returns nothing when all is as it should be. */
export function setClaimConditions(
  deps: KubernetesDeps,
  ref: ClaimRef,
  changes: (
    claim: NodeClaim,
  ) =>
    | { readonly conditions: readonly ConditionChange[]; readonly status?: Readonly<Record<string, unknown>> }
    | undefined,
): Promise<NodeClaim | undefined> {
  return updateClaimStatus(deps, ref, (claim) => {
    const wanted = changes(claim)
    if (wanted === undefined) return undefined
    const context = {
      now: new Date(deps.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
      generation: claim.metadata.generation ?? 1,
    }
    const set = wanted.conditions.reduce((all, change) => withCondition(all, change, context), claim.status.conditions)
    const conditions = withReady(set, claimDependents, context)
    if (wanted.status === undefined && JSON.stringify(conditions) === JSON.stringify(claim.status.conditions))
      return undefined
    return { ...wanted.status, conditions }
  })
}
