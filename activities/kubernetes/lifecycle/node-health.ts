import { expiryDue, type Moment, type Steady } from '../../../core/node-claim/lifecycle.ts'
import {
  areTooManySick,
  type Interruption,
  interruptionOf,
  type Repair,
  repairRetryMs,
  repairText,
} from '../../../core/node-claim/node-health.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { activityScope, pauseFor } from '../../activity-context.ts'
import { updateClaim } from '../client/object-writes.ts'
import { lockedPatch } from '../client/optimistic-write.ts'
import type { ClaimRef } from '../contract.ts'
import { earlierStamp } from '../draining/termination-stamp.ts'
import { subject } from '../event-recorder.ts'
import type { Parts, WriteDeps } from '../parts.ts'
import { nodeAsClaimed } from './claim-nodes.ts'

export type NodeHealthDeps = WriteDeps & Pick<Parts, 'log' | 'nodeRules' | 'serverTime'>

/** Returns when a lifecycle is judged: now, as far as this process's clock can be believed. */
export function momentOf({ now, serverTime }: Pick<NodeHealthDeps, 'now' | 'serverTime'>): Required<Moment> {
  return { now: now(), isClockWrong: serverTime.isOwnWrong() }
}

/**
 * Time that pods stay on an interrupted node, if there is any. Planners see the Node's condition too, and let a burst arrive for a second.
 * So pods are planned while they still run, and all nodes that Azure reclaims at once are planned in one pass.
 */
const headStartMs = 1500
const enoughTimeMs = 10_000

/** Records the end of the VM as the end of its claim, before the claim is deleted. Resolves when its drain should begin. */
export async function announceInterruption(
  deps: NodeHealthDeps,
  ref: ClaimRef,
  interruption: Interruption,
): Promise<void> {
  const isNews = await endWithVm(deps, ref, interruption)
  const hasTime = interruption.deadlineMs - deps.now() >= enoughTimeMs
  if (isNews && hasTime) await pauseFor(headStartMs, activityScope().signal)
}

/** Brings the end of a drain forward where the VM of one of the Nodes ends sooner. Without a change it costs a read of the cache. */
export async function applyInterruption(deps: NodeHealthDeps, claim: NodeClaim, nodes: readonly Node[]): Promise<void> {
  for (const node of nodes) {
    const interruption = interruptionOf(node, deps.nodeRules, deps.now())
    if (interruption !== undefined) await endWithVm(deps, claim.metadata, interruption)
  }
}

/** Writes that the pods end with the VM, whatever budgets and annotations say. Returns whether that is new. */
async function endWithVm(
  deps: NodeHealthDeps,
  ref: ClaimRef,
  { condition, message, deadlineMs }: Interruption,
): Promise<boolean> {
  let isNews = false
  const written = await updateClaim(deps, ref, (claim) => {
    const stamp = earlierStamp(claim, deadlineMs)
    const isReported = claim.metadata.annotations[annotations.interrupted] === condition
    isNews = !isReported
    if (isReported && stamp === undefined) return undefined
    return { metadata: { annotations: { [annotations.interrupted]: condition, ...stamp } } }
  })
  if (written === undefined || !isNews) return false
  const end = new Date(deadlineMs).toISOString()
  deps.log.warn({ nodeClaim: ref.name, condition, why: message, end }, 'Azure announced the end of a VM')
  deps.events.record({
    about: subject(written),
    reason: 'Interrupted',
    message: `Azure ends the VM at ${end}: ${condition}. The node is drained until then, and its pods are planned again at once`,
    values: [ref.uid],
  })
  return true
}

/**
 * Returns whether a claim may be deleted because its Node is sick: not while more than a fifth of its pool is, or of the cluster where it has
 * none (reference/karpenter-core.md 5.3). `node` was read live, and the cache knows later changes. If so, the claim's pods get no more time.
 */
export async function prepareRepair(
  deps: NodeHealthDeps,
  ref: ClaimRef,
  { claim, node, repair }: { readonly claim: NodeClaim; readonly node: Node; readonly repair: Repair },
): Promise<'delete' | Steady> {
  const pool = claim.metadata.labels[labels.nodePool]
  const nodes = [...deps.cache.nodes.values()]
  const isPeer = (one: Node) => nodeAsClaimed(deps, one).metadata.labels[labels.nodePool] === pool
  const peers = pool === undefined ? nodes : nodes.filter(isPeer)
  if (areTooManySick(peers, deps.nodeRules)) return blocked(deps, claim, node)
  const { type, status, dueAtMs } = repair
  const repairedFor = repairText(repair)
  const written = await updateClaim(deps, ref, (current) => {
    const stamp = earlierStamp(current, deps.now())
    const isMarked = current.metadata.annotations[annotations.repairedFor] === repairedFor
    return isMarked && stamp === undefined
      ? undefined
      : { metadata: { annotations: { [annotations.repairedFor]: repairedFor, ...stamp } } }
  })
  const since = new Date(dueAtMs).toISOString()
  deps.log.warn({ nodeClaim: ref.name, node: node.metadata.name, condition: type, status, since }, 'repairing node')
  deps.events.record({
    about: subject(written ?? claim),
    reason: 'NodeRepaired',
    message: `Condition ${type} of Node ${node.metadata.name} has been ${status} for longer than is tolerated; the node is replaced`,
    values: [ref.uid],
  })
  return 'delete'
}

/**
 * Returns a claim that is to live without what its interruption or repair wrote on it before the DELETE that did not come: a crash was between them, or a
 * hold. The next drain would go by that time, whatever budgets say, and who reads why the claim goes by that cause. Undefined: it is gone.
 */
export async function withoutEnd(deps: NodeHealthDeps, claim: NodeClaim): Promise<NodeClaim | undefined> {
  if (endMarks(claim) === undefined) return claim
  return updateClaim(deps, claim.metadata, (current) => {
    const marks = endMarks(current)
    return marks && lockedPatch({ metadata: { annotations: marks } }, current.metadata)
  })
}

/** A command fixes the end of its node's pods as well, and takes it back itself. */
function endMarks({ metadata }: NodeClaim): Readonly<Record<string, null>> | undefined {
  const { annotations: own, deletionTimestamp } = metadata
  const isMarked = [annotations.interrupted, annotations.repairedFor].some((key) => own[key] !== undefined)
  if (!isMarked || deletionTimestamp !== undefined || own[annotations.disruptionCommand] !== undefined) return undefined
  const all = [annotations.interrupted, annotations.repairedFor, annotations.terminationTimestamp]
  return Object.fromEntries(all.filter((key) => own[key] !== undefined).map((key) => [key, null]))
}

function blocked(deps: NodeHealthDeps, claim: NodeClaim, node: Node): Steady {
  const pool = claim.metadata.labels[labels.nodePool]
  const where = pool === undefined ? 'cluster' : 'nodepool'
  const message = `more than 20% nodes are unhealthy in the ${where}`
  const nodePool = pool === undefined ? undefined : deps.cache.nodePools.get(pool)
  for (const object of [node, claim, ...(nodePool === undefined ? [] : [nodePool])])
    deps.events.record({ about: subject(object), reason: 'NodeRepairBlocked', message, values: [object.metadata.uid] })
  deps.log.warn({ nodeClaim: claim.metadata.name, node: node.metadata.name, why: message }, 'node repair is withheld')
  const retryAtMs = deps.now() + repairRetryMs
  return { kind: 'steady', wakeAtMs: Math.min(retryAtMs, expiryDue(claim, deps.now()) ?? retryAtMs), wakeFor: 'repair' }
}
