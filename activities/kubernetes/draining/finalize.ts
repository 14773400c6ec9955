import type { Logger } from 'pino'
import type { Node, NodeClaim, Pod } from '../../../core/objects.ts'
import { isDaemonPod, isMirrorPod } from '../../../core/pods/pod-rules.ts'
import { terminationFinalizer } from '../../../core/requirements/labels.ts'
import { pauseFor } from '../../activity-context.ts'
import { inParallel } from '../../in-parallel.ts'
import { milestones } from '../../telemetry/milestones.ts'
import type { Json } from '../client/answers.ts'
import { isConflict, isNotFound } from '../client/api-error.ts'
import { claimBeingDeleted, updateClaim, updateNode } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import type { ClaimRef } from '../contract.ts'
import { liveNodes } from '../lifecycle/claim-nodes.ts'
import { livePodsOn } from '../lifecycle/live-pods.ts'
import type { DrainRecordDeps } from './drain-record.ts'
import { claimTerminated, leavingReason, nodeTerminated, podLost } from './drain-record.ts'
import type { NodeDeletionDeps } from './node-deletion.ts'
import { deleteNode } from './node-deletion.ts'

export interface FinalizeDeps extends DrainRecordDeps, NodeDeletionDeps {
  readonly log: Logger
}

/** Time that one attempt waits for Nodes that others hold; then Temporal retries. Below the limit of the activity. */
const patienceMs = 5000
const pollMs = 500

const never = new AbortController().signal

/** Most deletions of pods at once. */
const width = 16

/**
 * Finishes a lifecycle: every Node of the claim's VM goes, then the claim's finalizer (reference/karpenter-core.md 5.4). Gone already is
 * success. `isVmGone`: its pods were not drained since they run nowhere any more. They are deleted here, so that their controllers make others
 * now and not when Kubernetes collects them, most of a minute later.
 * Errors: a Node that another finalizer holds, by name; the next attempt checks again.
 */
export async function finalize(deps: FinalizeDeps, ref: ClaimRef, { isVmGone = false } = {}): Promise<void> {
  const claim = await claimBeingDeleted(deps, ref)
  if (claim === undefined) return
  const giveUpAt = deps.now() + patienceMs
  const nodes = await liveNodes(deps, claim)
  if (isVmGone)
    await Promise.all(nodes.map(({ metadata }) => deleteLostPods(deps, metadata.name, leavingReason(claim))))
  await Promise.all(nodes.map((node) => removeNode(deps, node, { claim, giveUpAt })))
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

async function removeNode(
  deps: FinalizeDeps,
  node: Node,
  { claim, giveUpAt }: { readonly claim: NodeClaim; readonly giveUpAt: number },
): Promise<void> {
  const left = await updateNode(deps, node.metadata.name, (current) => withoutFinalizer(current.metadata.finalizers))
  nodeTerminated(deps, node, claim)
  if (left === undefined || isGoneWithoutFinalizers(left)) return
  if (await deleteNode(deps, node)) return
  for (;;) {
    const holders = await holdersOf(deps, node)
    if (holders === undefined) return
    if (deps.now() >= giveUpAt)
      throw new Error(
        `Node ${node.metadata.name} is not gone: it is held by ${holders.join(', ') || 'the API server'}; whoever set that finalizer has to remove it`,
      )
    await pauseFor(pollMs, never)
  }
}

/** Returns whether removing the last finalizer removes the Node, because it is being deleted. */
function isGoneWithoutFinalizers({ metadata: { deletionTimestamp, finalizers } }: Node): boolean {
  return deletionTimestamp !== undefined && finalizers.length === 0
}

/** Returns the finalizers of a Node that is being deleted; undefined when it is gone. */
async function holdersOf(deps: FinalizeDeps, { metadata }: Node): Promise<readonly string[] | undefined> {
  let json: Json
  try {
    json = await deps.client.get(resourcePath('nodes', metadata.name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
  const { uid, finalizers = [] } = json['metadata'] as { uid: string; finalizers?: readonly string[] }
  return uid === metadata.uid ? finalizers : undefined
}

/** Returns the patch that removes the finalizer; undefined where there is none. */
export function withoutFinalizer(finalizers: readonly string[]) {
  return finalizers.includes(terminationFinalizer)
    ? { metadata: { finalizers: finalizers.filter((one) => one !== terminationFinalizer) } }
    : undefined
}
