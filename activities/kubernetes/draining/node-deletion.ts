import type { Node, Taint } from '../../../core/objects.ts'
import { labels, taintKeys, terminationFinalizer } from '../../../core/requirements/labels.ts'
import { sameTaint } from '../../../core/taints.ts'
import { expecting, isGoneOrOther } from '../client/api-error.ts'
import { updateNode } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import type { WriteDeps } from '../parts.ts'

export interface NodeDeletionDeps extends WriteDeps {}

const disrupted: Taint = { key: taintKeys.disrupted, effect: 'NoSchedule' }
const excluded = 'karpenter'

/**
 * Taints a Node and takes it out of load balancers before any eviction, and requests its deletion. Its finalizer holds it until the VM is
 * gone (reference/karpenter-core.md 5.5).
 */
export async function beginNodeDeletion(deps: NodeDeletionDeps, node: Node): Promise<void> {
  const { name } = node.metadata
  const after = await updateNode(deps, name, (current) => {
    const { metadata, taints } = current
    // Kubernetes accepts no new finalizer on an object that is being deleted.
    const isHeld = metadata.deletionTimestamp !== undefined || metadata.finalizers.includes(terminationFinalizer)
    const isMarked =
      taints.some((taint) => sameTaint(taint, disrupted)) && metadata.labels[labels.excludeFromBalancers] === excluded
    if (isHeld && isMarked) return undefined
    return {
      metadata: {
        labels: { [labels.excludeFromBalancers]: excluded },
        finalizers: isHeld ? metadata.finalizers : [...metadata.finalizers, terminationFinalizer],
      },
      spec: { taints: [...taints.filter(({ key }) => key !== taintKeys.disrupted), disrupted] },
    }
  })
  if (after !== undefined && after.metadata.deletionTimestamp === undefined) await deleteNode(deps, node)
}

/** Requests the deletion of the Node with this UID. Returns whether it is gone already. */
export async function deleteNode(deps: NodeDeletionDeps, { metadata: { name, uid } }: Node): Promise<boolean> {
  return deps.client.delete(resourcePath('nodes', name), { uid }).then(() => false, expecting(isGoneOrOther, true))
}

/** Returns the patch that removes the finalizer; undefined where there is none. */
export function withoutFinalizer(finalizers: readonly string[]) {
  return finalizers.includes(terminationFinalizer)
    ? { metadata: { finalizers: finalizers.filter((one) => one !== terminationFinalizer) } }
    : undefined
}
