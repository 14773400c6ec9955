import { drainPlan } from '../../../core/node-claim/drain.ts'
import { type Hold, holdOf, holdText } from '../../../core/node-claim/hold.ts'
import { nextStep } from '../../../core/node-claim/lifecycle.ts'
import { drainTimes, isRecorded, issueDeadline, type Reboot, rebootOf } from '../../../core/node-repair/reboot.ts'
import type { Node, NodeClaim, Taint } from '../../../core/objects.ts'
import { annotations, taintKeys } from '../../../core/requirements/labels.ts'
import { budgetsTopic, claimTopic, nodeTopic } from '../cache/change-feed.ts'
import { liveClaim, setClaimConditions, updateNode } from '../client/object-writes.ts'
import type { PreparedReboot, RebootInput } from '../contract.ts'
import { Evictions, type EvictionsDeps } from '../draining/evictions.ts'
import { claimNode, readNode } from '../lifecycle/claim-nodes.ts'
import { livePodsOn } from '../lifecycle/live-pods.ts'
import { momentOf, type NodeHealthDeps } from '../lifecycle/node-health.ts'
import type { WriteDeps } from '../parts.ts'

export interface PrepareRebootDeps extends NodeHealthDeps, EvictionsDeps {}

const rebootingTaint: Taint = { key: taintKeys.rebooting, effect: 'NoSchedule' }
const pollMs = 1000

/** Returns the reboot of a claim while its lifecycle has nothing more urgent to do, such as ending it. A Node that is being deleted ends its claim. */
export function openReboot(deps: NodeHealthDeps, claim: NodeClaim | undefined, uid: string): Reboot | undefined {
  if (claim === undefined) return undefined
  const view = { node: claimNode(deps, claim), rules: deps.nodeRules }
  if (view.node?.metadata.deletionTimestamp !== undefined) return undefined
  return nextStep(claim, { uid, ...momentOf(deps) }, view).kind === 'reboot' ? rebootOf(claim) : undefined
}

/**
 * Takes a Node out of service for its reboot: taint, then evictions tier by tier. Pods that are still there when their time is over stay, and
 * reboot with their node. Run again, it goes on from the cluster's state. While the own clock is wrong it waits. A hold calls the reboot off; where the
 * restart may have been asked for it only keeps the claim from its end.
 */
export async function prepareReboot(
  deps: PrepareRebootDeps,
  { claim: ref, limits }: RebootInput,
  signal: AbortSignal,
): Promise<PreparedReboot> {
  const evictions = new Evictions(deps)
  for (;;) {
    const claim = await liveClaim(deps, ref)
    const reboot = openReboot(deps, claim, ref.uid)
    if (claim === undefined || reboot === undefined) return { kind: 'over' }
    const hold = holdOf(claim, deps.now())
    if (reboot.phase === 'issued' || (hold !== undefined && isRecorded(claim))) return { kind: 'issued' }
    if (hold !== undefined) return callOff(deps, claim, hold)
    const isWithheld = deps.serverTime.isOwnWrong()
    const outcome = isWithheld ? undefined : await advance(deps, { claim, reboot, evictions, limits })
    if (outcome !== undefined) return outcome
    const node = claimNode(deps, claim)?.metadata.name
    const topics = [claimTopic(ref.name), ...(node === undefined ? [] : [nodeTopic(node)])]
    const budgets = evictions.refusingNamespaces().map(budgetsTopic)
    await deps.cache.changeOf([...topics, ...budgets], { ms: pollMs, concerns: () => true }, signal)
  }
}

/** Gives a Node back whose claim is held before its VM restarts. The condition goes last: an attempt that is cut off before leaves the reboot open. */
async function callOff(deps: PrepareRebootDeps, claim: NodeClaim, hold: Hold): Promise<PreparedReboot> {
  const node = claimNode(deps, claim)
  if (node !== undefined) await untaint(deps, node.metadata.name)
  const message = `the NodeClaim is ${holdText(hold)}`.slice(0, 1024)
  await setClaimConditions(deps, claim.metadata, (current) =>
    rebootOf(current) !== undefined && !isRecorded(current) && holdOf(current, deps.now()) !== undefined
      ? {
          conditions: [{ type: 'Rebooting', status: 'False', reason: 'RebootCalledOff', message }],
          clear: ['DisruptionReason'],
        }
      : undefined,
  )
  deps.log.info({ nodeClaim: claim.metadata.name, why: message }, 'called reboot off')
  return { kind: 'over' }
}

interface Preparing {
  readonly claim: NodeClaim
  readonly reboot: Reboot
  readonly evictions: Evictions
  readonly limits: RebootInput['limits']
}

async function advance(deps: PrepareRebootDeps, at: Preparing): Promise<PreparedReboot | undefined> {
  const { claim, reboot } = at
  if (reboot.bound === 'invalid') {
    const value = claim.metadata.annotations[annotations.rebootBound] ?? ''
    return failed('invalid_request', `annotation ${annotations.rebootBound} "${value}" is not a duration of 0s or more`)
  }
  const node = claimNode(deps, claim) ?? (await readNode(deps, claim))
  if (node === undefined) {
    if (deps.now() < issueDeadline(claim, reboot, at.limits)) return undefined
    return failed('provider_error', 'the NodeClaim has no Node')
  }
  if ((await taint(deps, node)) && !(await isStillOpen(deps, claim, node))) return { kind: 'over' }
  return (await isDrained(deps, node, at)) ? { kind: 'drained' } : undefined
}

function failed(result: 'invalid_request' | 'provider_error', message: string): PreparedReboot {
  return { kind: 'failed', result, message }
}

/** Returns whether the Node was not tainted before. */
async function taint(deps: PrepareRebootDeps, node: Node): Promise<boolean> {
  let isNew = false
  await updateNode(deps, node.metadata.name, ({ taints }) => {
    isNew = !taints.some(({ key }) => key === taintKeys.rebooting)
    return isNew ? { spec: { taints: [...taints, rebootingTaint] } } : undefined
  })
  return isNew
}

/** Takes the taint back from a Node whose reboot was over by then: an attempt that stood still must not put a Node that is back out of service. */
async function isStillOpen(deps: PrepareRebootDeps, { metadata: ref }: NodeClaim, node: Node): Promise<boolean> {
  const claim = await liveClaim(deps, ref)
  if (openReboot(deps, claim, ref.uid) !== undefined) return true
  await untaint(deps, node.metadata.name)
  return false
}

export async function untaint(deps: WriteDeps, node: string): Promise<void> {
  await updateNode(deps, node, ({ taints }) =>
    taints.some(({ key }) => key === taintKeys.rebooting)
      ? { spec: { taints: taints.filter(({ key }) => key !== taintKeys.rebooting) } }
      : undefined,
  )
}

async function isDrained(deps: PrepareRebootDeps, node: Node, { reboot, evictions }: Preparing): Promise<boolean> {
  const { shortest, longest } = drainTimes(reboot)
  const now = deps.now()
  if (now >= longest) return true
  const { name } = node.metadata
  const plan = drainPlan({ pods: deps.cache.pods.by('byNode', name), now })
  await evictions.carryOut({ ...plan, forceDelete: [] }, 'Unhealthy', undefined)
  if (!plan.done || now < shortest) return false
  // The scheduler may have bound a pod before it saw the taint.
  await livePodsOn(deps, name)
  return drainPlan({ pods: deps.cache.pods.by('byNode', name), now }).done
}
