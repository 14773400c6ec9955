import type { NodeClass } from '../../../api/objects.ts'
import { nodeClassFinalizer } from '../../../core/requirements/labels.ts'
import type { CachedKind } from '../../kubernetes/cache/cached-kinds.ts'
import { isNotFound } from '../../kubernetes/client/api-error.ts'
import { lockedPatch } from '../../kubernetes/client/optimistic-write.ts'
import type { StatusWritesDeps } from '../../kubernetes/client/status-writes.ts'
import { setConditions, updateObject } from '../../kubernetes/client/status-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'

export interface TerminationDeps extends StatusWritesDeps {}

const namesShown = 5

/**
 * Releases an AKSNodeClass that is being deleted once no NodeClaim names it, since until then it describes their nodes
 * (reference/azure-provider.md 1.5). The cache must be up to date on NodeClaims. The deletion of the last one starts the next check.
 */
export async function terminateNodeClass(deps: TerminationDeps, nodeClass: NodeClass): Promise<void> {
  const { name } = nodeClass.metadata
  const claims = [...deps.cache.nodeClaims.values()].filter(({ spec }) => spec.nodeClassRef.name === name)
  if (claims.length > 0) {
    const message = waitingMessage(claims.map(({ metadata }) => metadata.name))
    const values = [nodeClass.metadata.uid, message]
    deps.events.record({ about: subject(nodeClass), reason: 'WaitingOnNodeClaimTermination', message, values })
    await setConditions(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, () => ({}))
    return
  }
  await updateObject(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, ({ metadata }, path) => {
    if (metadata.deletionTimestamp === undefined || !metadata.finalizers.includes(nodeClassFinalizer)) return undefined
    const finalizers = metadata.finalizers.filter((finalizer) => finalizer !== nodeClassFinalizer)
    return deps.client.mergePatch(path, lockedPatch({ metadata: { finalizers } }, metadata))
  })
}

/**
 * Brings these kinds up to date. A kind whose CRD was deleted is served no more: its objects went one by one, which the watch has told, so the cache is
 * up to date on it, and an AKSNodeClass that waits for the last NodeClaim can go. Its CRD, which waits for it, could not be applied again otherwise.
 * Errors: the API server's.
 */
export async function catchUpServed({ cache }: TerminationDeps, kinds: readonly CachedKind[]): Promise<void> {
  await Promise.all(
    kinds.map((kind) =>
      cache.catchUp([kind]).catch((error: unknown) => {
        if (!isNotFound(error)) throw error
      }),
    ),
  )
}

/** Returns five names, and how many more. Sorted, so that the same claims make the same message. */
export function waitingMessage(claims: readonly string[]): string {
  const sorted = claims.toSorted()
  const shown = sorted.slice(0, namesShown).join(', ')
  const others = sorted.length - namesShown
  return `Waiting on NodeClaim termination for ${shown}${others > 0 ? ` and ${others} other(s)` : ''}`
}
