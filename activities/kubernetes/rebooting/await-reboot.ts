import { conditionOf } from '../../../core/conditions.ts'
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
import { labels, taintKeys } from '../../../core/requirements/labels.ts'
import { limitText } from '../../../core/values/time.ts'
import { claimTopic, nodeTopic } from '../cache/change-feed.ts'
import { liveClaim, setClaimConditions, updateClaim, updateNode } from '../client/object-writes.ts'
import type { ClaimRef, RebootInput, RebootOutcome } from '../contract.ts'
import { boundTermination } from '../draining/termination-stamp.ts'
import { subject } from '../event-recorder.ts'
import { countDisruption, type DisruptionCountDeps, deleteClaim } from '../lifecycle/claim-deletion.ts'
import { claimNode, readNode } from '../lifecycle/claim-nodes.ts'
import type { NodeHealthDeps } from '../lifecycle/node-health.ts'
import type { Parts } from '../parts.ts'
import { openReboot } from './prepare-reboot.ts'

export type AwaitRebootDeps = NodeHealthDeps & DisruptionCountDeps & Pick<Parts, 'lifecycleMetrics'>

const pollMs = 15_000

/** Waits until the VM has booted and its Node is ready, and gives the Node back. Its initialization runs again after that. */
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
    if (leftMs <= 0)
      return {
        kind: 'failed',
        result: 'recovery_timeout',
        message: `the Node was not ready ${limitText(limits.recoveryMs)} after the restart`,
      }
    const topics = [claimTopic(ref.name), ...(node === undefined ? [] : [nodeTopic(node.metadata.name)])]
    await deps.cache.changeOf(topics, { ms: Math.min(pollMs, leftMs), concerns: () => true }, signal)
  }
}

function hasBooted({ bootId }: Node, before: string | undefined): boolean {
  return bootId !== undefined && bootId !== before
}

/** Until its initialization has run again, the node counts as starting. */
async function resetInitialization(deps: AwaitRebootDeps, claim: NodeClaim): Promise<void> {
  await setClaimConditions(deps, claim.metadata, ({ status }) =>
    conditionOf(status.conditions, 'Initialized')?.reason === 'Rebooting'
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

async function untaint(deps: AwaitRebootDeps, node: string): Promise<void> {
  await updateNode(deps, node, ({ taints }) =>
    taints.some(({ key }) => key === taintKeys.rebooting)
      ? { spec: { taints: taints.filter(({ key }) => key !== taintKeys.rebooting) } }
      : undefined,
  )
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

/** Ends the claim of a node whose reboot failed: its pods get what was left of their time, and a replacement is planned for them. */
export async function endReboot(
  deps: AwaitRebootDeps,
  ref: ClaimRef,
  { result, message }: { readonly result: RebootFailure; readonly message: string },
): Promise<void> {
  const claim = await liveClaim(deps, ref)
  const reboot = claim && rebootOf(claim)
  if (claim === undefined || reboot === undefined) return
  const node = claimNode(deps, claim)
  if (node !== undefined) await untaint(deps, node.metadata.name)
  if (typeof reboot.bound === 'number') await boundTermination(deps, ref, deps.now() + reboot.bound)
  const text = `reboot failed: ${message}`
  deps.events.record({ about: subject(claim), reason: 'RebootFailed', message: text, values: [ref.uid, result] })
  deps.log.warn({ nodeClaim: ref.name, result, why: message }, 'failed to reboot node')
  if (await deleteClaim(deps, ref)) {
    countDisruption(deps, claim, 'unhealthy')
    measure(deps, claim, result)
  }
  await setClaimConditions(deps, ref, () => ({
    conditions: [{ type: 'Rebooting', status: 'False', reason: 'RebootFailed', message: text }],
  }))
}
