import { conditionOf, isTrue, nodeGone, whyUnowned } from '../../../core/conditions.ts'
import { type Steady, wakeAt, wakeOf } from '../../../core/node-claim/lifecycle.ts'
import {
  type NodeGoneLimits,
  type NodeGoneTurn,
  nodeGoneLimits,
  nodeGoneTurn,
} from '../../../core/node-claim/node-gone.ts'
import { hasLostNode } from '../../../core/node-claim/node-owner.ts'
import { isReady } from '../../../core/node-claim/registration.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { timeText } from '../../../core/values/time.ts'
import { getIfAny } from '../client/answers.ts'
import { setClaimConditions } from '../client/object-writes.ts'
import { lockedPatch } from '../client/optimistic-write.ts'
import { resourcePath } from '../client/resources.ts'
import { updateObject } from '../client/status-writes.ts'
import { subject } from '../event-recorder.ts'
import type { DisruptionCountDeps } from './claim-deletion.ts'
import { claimNode, nodesOfVm, readNode } from './claim-nodes.ts'
import { momentOf, type NodeHealthDeps } from './node-health.ts'

export interface NodeGoneDeps extends NodeHealthDeps, DisruptionCountDeps {
  /** Unset: the usual ones. */
  readonly nodeGone?: NodeGoneLimits
}

/** Time after which a live look is repeated that neither found the Node nor found it gone: a quarter of the time that it took so far, within these. */
const [soonestMs, latestMs] = [30_000, 10 * 60_000]

export const limitsOf = ({ nodeGone: limits = nodeGoneLimits }: Pick<NodeGoneDeps, 'nodeGone'>) => limits

/**
 * Returns the Node of a claim, and the claim with the condition NodeGone where its Node is gone. The Node is read past the cache before it counts as
 * gone. Both are undefined when the claim is.
 */
export async function withNode(
  deps: NodeGoneDeps,
  claim: NodeClaim,
): Promise<{ readonly claim: NodeClaim | undefined; readonly node: Node | undefined }> {
  const known = claimNode(deps, claim)
  const node = hasLostNode(claim, known) ? ((await readNode(deps, claim)) ?? known) : known
  const isGone = hasLostNode(claim, node)
  if (isGone === isTrue(claim.status.conditions, nodeGone)) return { claim, node }
  const written = await setClaimConditions(deps, claim.metadata, (current) => {
    if (hasLostNode(current, node) !== isGone) return undefined
    return isGone
      ? { conditions: [{ type: nodeGone, status: 'True', message: goneText(current) }] }
      : { clear: [nodeGone] }
  })
  if (isGone && written !== undefined) {
    const message = goneText(claim)
    deps.log.warn({ nodeClaim: claim.metadata.name, node: claim.status.nodeName }, 'node of nodeclaim is gone')
    deps.events.record({ about: subject(claim), reason: nodeGone, message, values: [claim.metadata.uid, 'since'] })
  }
  return { claim: written, node }
}

function goneText({ status: { nodeName = 'of the NodeClaim' } }: NodeClaim): string {
  return `Node ${nodeName} is gone, or another one has its name; pods are planned elsewhere, and the NodeClaim ends with its VM unless the Node joins again`
}

/** Returns whether a claim ends whose Node has been gone for too long. What is not proved now, or is too much at once, is reported and looked at again. */
export async function mayEndWithoutNode(deps: NodeGoneDeps, claim: NodeClaim): Promise<'delete' | Steady> {
  if (!(await isProvedGone(deps, claim))) {
    const why = `an object Node ${claim.status.nodeName} is there that is not proven to be the NodeClaim's; if it is of no use: kubectl delete node ${claim.status.nodeName}`
    return withheld(deps, claim, { untilMs: nextLook(claim, deps.now()), why })
  }
  const other = nodesOfVm(deps, claim).find(isReady)?.metadata.name
  if (other !== undefined) {
    const why = `Node ${other} has the provider id of its VM and is Ready, so pods may run there; find out who registered it, then: kubectl drain ${other} --ignore-daemonsets, and kubectl delete node ${other}`
    return withheld(deps, claim, { untilMs: nextLook(claim, deps.now()), why })
  }
  // Its end would not end that VM, and the NodeClaim would wait with its finalizer.
  const unowned = whyUnowned(claim.status.conditions)
  if (unowned !== undefined) return withheld(deps, claim, { untilMs: nextLook(claim, deps.now()), why: unowned })
  const turn = await takeTurn(deps, claim)
  if (turn.kind === 'withheld') {
    const { untilMs, ended, most } = turn
    const why = `${ended} NodeClaims of the NodePool ended without a Node in ${limitsOf(deps).windowMs / 60_000} minutes, and no more than ${most} may; find out who deletes Nodes, then delete the NodeClaim, or wait until ${timeText(untilMs)}`
    return withheld(deps, claim, { untilMs, why })
  }
  return 'delete'
}

/** Says that a claim ends without its Node, and with it what still runs there. */
export function reportEndWithoutNode(deps: NodeGoneDeps, claim: NodeClaim): void {
  const { name, uid } = claim.metadata
  const { conditions, nodeName: node } = claim.status
  const since = conditionOf(conditions, nodeGone)?.lastTransitionTime
  const message = `Node ${node} has been gone since ${since}: the NodeClaim ends with its VM. No drain was possible: pods that still run there end with the VM`
  deps.log.warn({ nodeClaim: name, node, since }, 'deleting nodeclaim without node')
  deps.events.record({ about: subject(claim), reason: nodeGone, message, values: [uid, 'ends'] })
}

/** A Node that stays in doubt for days must not fill its lifecycle's history. */
function nextLook({ status }: NodeClaim, now: number): number {
  const sinceMs = Date.parse(conditionOf(status.conditions, nodeGone)?.lastTransitionTime ?? '')
  const quarterMs = Number.isNaN(sinceMs) ? 0 : (now - sinceMs) / 4
  return now + Math.min(Math.max(quarterMs, soonestMs), latestMs)
}

/** Whether the API server says that there is no Node of the name. An empty list, a refusal or no answer prove nothing. */
async function isProvedGone({ client }: NodeGoneDeps, { status: { nodeName } }: NodeClaim): Promise<boolean> {
  return nodeName !== undefined && (await getIfAny(client, resourcePath('nodes', nodeName))) === undefined
}

/** Counts the claim on its NodePool, before it ends, if it may. A claim without a NodePool stands for itself. */
async function takeTurn(deps: NodeGoneDeps, claim: NodeClaim): Promise<NodeGoneTurn> {
  const { uid, labels: own } = claim.metadata
  const name = own[labels.nodePool] ?? ''
  const pool = deps.cache.nodePools.get(name)
  let turn: NodeGoneTurn = { kind: 'end', record: '' }
  if (pool === undefined) return turn
  const nodes = deps.cache.nodeClaims
    .by('byNodePool', name)
    .filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status.nodeName !== undefined).length
  await updateObject(deps, { kind: 'NodePool', ref: pool.metadata }, (current, path) => {
    const record = current.metadata.annotations[annotations.endedWithoutNode]
    turn = nodeGoneTurn(record, { uid, now: deps.now(), nodes }, limitsOf(deps))
    if (turn.kind === 'withheld' || turn.record === record) return undefined
    const patch = { metadata: { annotations: { [annotations.endedWithoutNode]: turn.record } } }
    return deps.client.mergePatch(path, lockedPatch(patch, current.metadata))
  })
  return turn
}

function withheld(
  deps: NodeGoneDeps,
  claim: NodeClaim,
  { untilMs, why }: { readonly untilMs: number; readonly why: string },
): Steady {
  const message = `Node ${claim.status.nodeName} is gone and the NodeClaim is kept: ${why}`
  deps.log.warn({ nodeClaim: claim.metadata.name, why }, 'end of nodeclaim without node is withheld')
  const pool = deps.cache.nodePools.get(claim.metadata.labels[labels.nodePool] ?? '')
  for (const object of pool === undefined ? [claim] : [claim, pool])
    deps.events.record({ about: subject(object), reason: 'NodeGoneWithheld', message, values: [object.metadata.uid] })
  return { kind: 'steady', ...wakeAt(wakeOf(claim, momentOf(deps), { rules: deps.nodeRules }), untilMs) }
}
