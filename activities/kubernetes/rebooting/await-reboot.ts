import { conditionOf, isTrue } from '../../../core/conditions.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import { limits as usualLimits } from '../../../core/node-claim/limits.ts'
import { isReady } from '../../../core/node-claim/registration.ts'
import {
  type RebootFailure,
  rebootedSince,
  rebootOf,
  rebootTraces,
  recoveryDeadline,
} from '../../../core/node-repair/reboot.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { annotations, labels, taintKeys } from '../../../core/requirements/labels.ts'
import { limitText } from '../../../core/values/time.ts'
import { claimTopic, nodeTopic } from '../cache/change-feed.ts'
import { liveClaim, setClaimConditions, updateClaim, updateNode } from '../client/object-writes.ts'
import { lockedPatch } from '../client/optimistic-write.ts'
import type { ClaimRef, RebootInput, RebootOutcome } from '../contract.ts'
import { boundTermination } from '../draining/termination-stamp.ts'
import { subject } from '../event-recorder.ts'
import { countDisruption, type DisruptionCountDeps, deleteClaim } from '../lifecycle/claim-deletion.ts'
import { claimNode, readNode } from '../lifecycle/claim-nodes.ts'
import type { NodeHealthDeps } from '../lifecycle/node-health.ts'
import type { Parts } from '../parts.ts'
import { openReboot, untaint } from './prepare-reboot.ts'

export type AwaitRebootDeps = NodeHealthDeps & DisruptionCountDeps & Pick<Parts, 'lifecycleMetrics'>

const pollMs = 15_000

/**
 * Waits until the VM has booted and its Node is ready, and gives the Node back. Its initialization runs again after that. A reboot fails when its time is
 * over, but not while the claim is held.
 */
export async function awaitReboot(
  deps: AwaitRebootDeps,
  { claim: ref, limits = usualLimits.reboot }: RebootInput,
  signal: AbortSignal,
): Promise<RebootOutcome> {
  for (;;) {
    const claim = await liveClaim(deps, ref)
    const reboot = openReboot(deps, claim, ref.uid)
    if (claim === undefined || reboot === undefined) return { kind: 'over' }
    await resetInitialization(deps, claim)
    const node = claimNode(deps, claim) ?? (await readNode(deps, claim))
    if (node !== undefined && hasBooted(node, reboot.preBootId)) {
      await observeBoot(deps, claim, node)
      if (isReady(node)) return succeed(deps, claim)
    }
    const leftMs = recoveryDeadline(claim, rebootedSince(claim, reboot, deps.now()), limits) - deps.now()
    const isHeld = holdOf(claim, deps.now()) !== undefined
    if (leftMs <= 0 && !isHeld)
      return {
        kind: 'failed',
        result: 'recovery_timeout',
        message: `the Node was not ready ${limitText(limits.recoveryMs)} after the restart`,
      }
    const topics = [claimTopic(ref.name), ...(node === undefined ? [] : [nodeTopic(node.metadata.name)])]
    await deps.cache.changeOf(topics, { ms: isHeld ? pollMs : Math.min(pollMs, leftMs), concerns: () => true }, signal)
  }
}

function hasBooted({ bootId }: Node, before: string | undefined): boolean {
  return bootId !== undefined && bootId !== before
}

/** Until its initialization has run again, the node counts as starting. */
async function resetInitialization(deps: AwaitRebootDeps, claim: NodeClaim): Promise<void> {
  await setClaimConditions(deps, claim.metadata, ({ status }) =>
    // An attempt that stood still finds the reboot over, and the node initialized.
    !isTrue(status.conditions, 'Rebooting') || conditionOf(status.conditions, 'Initialized')?.reason === 'Rebooting'
      ? undefined
      : {
          conditions: [{ type: 'Initialized', status: 'Unknown', reason: 'Rebooting', message: 'node is rebooting' }],
          clear: ['Consolidatable'],
        },
  )
  const node = claimNode(deps, claim)
  if (node === undefined) return
  await updateNode(deps, node.metadata.name, ({ metadata }) =>
    metadata.labels[labels.initialized] === undefined
      ? undefined
      : { metadata: { labels: { [labels.initialized]: null } } },
  )
}

async function observeBoot(deps: AwaitRebootDeps, claim: NodeClaim, node: Node): Promise<void> {
  if (!node.taints.some(({ key }) => key === taintKeys.rebooting)) return
  await untaint(deps, node.metadata.name)
  deps.events.record({
    about: subject(claim),
    reason: 'RebootObserved',
    message: 'New boot observed (bootID changed); awaiting node readiness',
    values: [claim.metadata.uid, node.bootId ?? ''],
  })
}

/** Writes the end of a reboot. The condition goes last: an attempt that is cut off before leaves the reboot open. */
async function succeed(deps: AwaitRebootDeps, claim: NodeClaim): Promise<RebootOutcome> {
  await updateClaim(deps, claim.metadata, () => ({ metadata: { annotations: rebootTraces } }))
  await close(deps, claim, { reason: 'RebootSucceeded', message: 'node rebooted and rejoined the cluster' })
  measure(deps, claim, 'succeeded')
  deps.log.info({ nodeClaim: claim.metadata.name }, 'rebooted node')
  return { kind: 'rebooted' }
}

async function close(
  deps: AwaitRebootDeps,
  { metadata }: NodeClaim,
  end: { readonly reason: 'RebootSucceeded' | 'RebootFailed'; readonly message: string },
): Promise<void> {
  await setClaimConditions(deps, metadata, () => ({
    conditions: [{ type: 'Rebooting', status: 'False', ...end }],
    clear: ['DisruptionReason'],
  }))
}

function measure(deps: AwaitRebootDeps, claim: NodeClaim, result: RebootFailure | 'succeeded'): void {
  const reboot = rebootOf(claim)
  if (reboot === undefined) return
  const now = deps.now()
  deps.lifecycleMetrics.rebooted(result, {
    totalMs: now - reboot.requestedMs,
    recoveryMs: now - rebootedSince(claim, reboot, now),
  })
}

/**
 * Ends the claim of a node whose reboot failed: its pods get what was left of their time, and a replacement is planned for them. A claim that is held by
 * then, or whose Node is back, stays as it is: its lifecycle looks at its reboot again.
 */
export async function endReboot(
  deps: AwaitRebootDeps,
  ref: ClaimRef,
  { result, message }: { readonly result: RebootFailure; readonly message: string },
): Promise<void> {
  const claim = await liveClaim(deps, ref)
  const reboot = claim && rebootOf(claim)
  if (claim === undefined || reboot === undefined || !(await hasFailed(deps, claim))) return
  const node = claimNode(deps, claim)
  if (node !== undefined) await untaint(deps, node.metadata.name)
  const bound = typeof reboot.bound === 'number' ? await boundTermination(deps, ref, deps.now() + reboot.bound) : claim
  if (bound === undefined) return
  const mayGo = (live: NodeClaim) => hasFailed(deps, live)
  if ((bound !== claim && !(await mayGo(bound))) || !(await deleteClaim(deps, ref, { claim: bound, mayGo })))
    return withoutBound(deps, ref)
  countDisruption(deps, claim, 'unhealthy')
  measure(deps, claim, result)
  const text = `reboot failed: ${message}`
  deps.events.record({ about: subject(claim), reason: 'RebootFailed', message: text, values: [ref.uid, result] })
  deps.log.warn({ nodeClaim: ref.name, result, why: message }, 'failed to reboot node')
  await setClaimConditions(deps, ref, () => ({
    conditions: [{ type: 'Rebooting', status: 'False', reason: 'RebootFailed', message: text }],
  }))
}

/** Whether a reboot is open that nothing keeps from its failure. */
async function hasFailed(deps: AwaitRebootDeps, claim: NodeClaim): Promise<boolean> {
  const reboot = rebootOf(claim)
  if (reboot === undefined || holdOf(claim, deps.now()) !== undefined) return false
  const node = await readNode(deps, claim)
  const isBack =
    node !== undefined && reboot.preBootId !== undefined && hasBooted(node, reboot.preBootId) && isReady(node)
  return !isBack
}

/** Takes the end of its pods back from a claim that stays: a later drain would go by it. */
async function withoutBound(deps: AwaitRebootDeps, ref: ClaimRef): Promise<void> {
  await updateClaim(deps, ref, ({ metadata }) =>
    metadata.deletionTimestamp === undefined && metadata.annotations[annotations.terminationTimestamp] !== undefined
      ? lockedPatch({ metadata: { annotations: { [annotations.terminationTimestamp]: null } } }, metadata)
      : undefined,
  )
}
