import { conditionOf } from '../../../core/conditions.ts'
import { heldNodeMs, heldNodeText, holdersOf, nodeDeleted } from '../../../core/machines-in-use.ts'
import { owningClaim } from '../../../core/node-claim/node-owner.ts'
import type { Node, NodeClaim, Pod } from '../../../core/objects.ts'
import { isDaemonPod, isMirrorPod } from '../../../core/pods/pod-rules.ts'
import { pauseFor } from '../../activity-context.ts'
import { inParallel } from '../../concurrency.ts'
import { milestones } from '../../telemetry/milestones.ts'
import { decodeNode } from '../cache/decode.ts'
import { getIfAny } from '../client/answers.ts'
import { isConflict, isNotFound } from '../client/api-error.ts'
import { claimBeingDeleted, setClaimConditions, updateClaim, updateNode } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import type { ClaimRef } from '../contract.ts'
import { subject } from '../event-recorder.ts'
import { liveNodes } from '../lifecycle/claim-nodes.ts'
import { livePodsOn } from '../lifecycle/live-pods.ts'
import type { Parts } from '../parts.ts'
import { claimTerminated, type DrainRecordDeps, leavingReason, nodeTerminated, podLost } from './drain-record.ts'
import { deleteNode, type NodeDeletionDeps, withoutFinalizer } from './node-deletion.ts'

export type FinalizeDeps = DrainRecordDeps & NodeDeletionDeps & Pick<Parts, 'log'>

/** Time that one attempt waits for Nodes that others hold; then Temporal retries. Below the limit of the activity. */
const patienceMs = 5000
const pollMs = 500

const never = new AbortController().signal

/** Most deletions of pods at once. */
const width = 16

/**
 * Finishes a lifecycle: every Node of the claim's VM goes, then the claim's finalizer (reference/karpenter-core.md 5.4). Gone already is
 * success. `isVmGone`: its pods were not drained since they run nowhere any more. They are deleted here, so that their controllers make others
 * now and not when Kubernetes collects them, most of a minute later. A Node that finalizers of others hold for long is left to them.
 * Errors: a Node that another finalizer holds, by name; the next attempt checks again.
 */
export async function finalize(deps: FinalizeDeps, ref: ClaimRef, { isVmGone = false } = {}): Promise<void> {
  const claim = await claimBeingDeleted(deps, ref)
  if (claim === undefined) return
  const giveUpAt = deps.now() + patienceMs
  const nodes = await liveNodes(deps, claim)
  if (isVmGone)
    await Promise.all(nodes.map(({ metadata }) => deleteLostPods(deps, metadata.name, leavingReason(claim))))
  const left = await Promise.all(nodes.map((node) => removeNode(deps, node, { claim, giveUpAt })))
  const held = left.filter((node) => node !== undefined)
  if (held.length > 0) await leaveHeld(deps, claim, held)
  await updateClaim(deps, ref, (current) => withoutFinalizer(current.metadata.finalizers))
  milestones.deleted(deps.log, claim)
  claimTerminated(deps, claim)
}

/** Deletes lost pods, except daemons, which would be made again as long as the Node is there. */
async function deleteLostPods(deps: FinalizeDeps, nodeName: string, why: string): Promise<void> {
  const pods = (await livePodsOn(deps, nodeName)).filter((pod) => !isDaemonPod(pod) && !isMirrorPod(pod))
  const deleteOne = async (pod: Pod) => {
    const { name, namespace, uid } = pod.metadata
    try {
      await deps.client.delete(resourcePath('pods', name, namespace), { uid, gracePeriodSeconds: 0 })
      podLost(deps, pod, why)
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error
    }
  }
  await inParallel(pods, width, deleteOne)
}

/** Returns the Node if finalizers of others hold it. Errors: it is still there, and nothing says why. */
async function removeNode(
  deps: FinalizeDeps,
  node: Node,
  { claim, giveUpAt }: { readonly claim: NodeClaim; readonly giveUpAt: number },
): Promise<Node | undefined> {
  const left = await updateNode(deps, node.metadata.name, (current) => withoutFinalizer(current.metadata.finalizers))
  nodeTerminated(deps, node, claim)
  if (left === undefined || isGoneWithoutFinalizers(left)) return undefined
  if (await deleteNode(deps, node)) return undefined
  for (;;) {
    const current = await currentNode(deps, node)
    if (current === undefined) return undefined
    if (deps.now() >= giveUpAt) {
      if (holdersOf(current).length > 0) return current
      throw new Error(`Node ${node.metadata.name} was deleted, and the API server still has it`)
    }
    await pauseFor(pollMs, never)
  }
}

/**
 * Reports Nodes that finalizers of others hold, and lets them be after a while: nothing runs there any more, and a NodeClaim that waited for them would
 * keep its NodePool and its CRD from going. Errors: it is too early for that; the next attempt looks again.
 */
async function leaveHeld(deps: FinalizeDeps, claim: NodeClaim, nodes: readonly Node[]): Promise<void> {
  const message = nodes.map(heldNodeText).join('. ')
  let isNews = false
  const written = await setClaimConditions(deps, claim.metadata, ({ status }) => {
    isNews = conditionOf(status.conditions, nodeDeleted) === undefined
    return { conditions: [{ type: nodeDeleted, status: 'False', reason: 'HeldByFinalizers', message }] }
  })
  if (isNews) reportHeld(deps, { claim, nodes, message })
  const sinceMs = Date.parse(conditionOf(written?.status.conditions ?? [], nodeDeleted)?.lastTransitionTime ?? '')
  if (deps.now() - sinceMs < heldNodeMs) throw new Error(message)
  await Promise.all(nodes.map((node) => unblock(deps, node)))
  reportHeld(deps, { claim, nodes, message: `${message}. Its NodeClaim ends without it` })
}

function reportHeld(
  { log, events }: FinalizeDeps,
  { claim, nodes, message }: { readonly claim: NodeClaim; readonly nodes: readonly Node[]; readonly message: string },
): void {
  log.warn({ nodeClaim: claim.metadata.name, why: message }, 'node is held by finalizers of others')
  for (const object of [claim, ...nodes])
    events.record({
      about: subject(object),
      reason: 'NodeHeldByFinalizers',
      message,
      values: [object.metadata.uid, message],
    })
}

/** Has a foreground deletion of the claim wait for a Node no longer. The Node still says whose it was. */
async function unblock(deps: FinalizeDeps, node: Node): Promise<void> {
  await updateNode(deps, node.metadata.name, (current) => {
    const own = owningClaim(current)
    if (own === undefined) return undefined
    const ownerReferences = current.metadata.ownerReferences.map((one) =>
      one === own ? { ...one, blockOwnerDeletion: false } : one,
    )
    return { metadata: { ownerReferences } }
  })
}

/** Returns whether removing the last finalizer removes the Node, because it is being deleted. */
function isGoneWithoutFinalizers({ metadata: { deletionTimestamp, finalizers } }: Node): boolean {
  return deletionTimestamp !== undefined && finalizers.length === 0
}

/** Returns a Node as it is; undefined when it is gone. */
async function currentNode(deps: FinalizeDeps, { metadata }: Node): Promise<Node | undefined> {
  const json = await getIfAny(deps.client, resourcePath('nodes', metadata.name))
  const current = json && decodeNode(json)
  return current?.metadata.uid === metadata.uid ? current : undefined
}
