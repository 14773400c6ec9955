import { createHash } from 'node:crypto'
import { conditionOf, withCondition } from '../../core/conditions.ts'
import type { Blocked } from '../../core/disruption/candidates.ts'
import type { DisruptionCommand } from '../../core/disruption/command.ts'
import { annotations, taintKeys } from '../../core/labels.ts'
import type { Pod } from '../../core/objects.ts'
import { type Pause, type Pauses, pauseText } from '../../core/pauses.ts'
import { isActive } from '../../core/pod-rules.ts'
import { sameTaint } from '../../core/taints.ts'
import { pauseFor } from '../activity-context.ts'
import type { ClaimRef } from '../azure/contract.ts'
import { releaseCandidate } from '../kubernetes/candidates.ts'
import type { CachedKind, CachedObject } from '../kubernetes/cluster-cache.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { cachedClaim, updateClaim, updateClaimStatus, updateNode } from '../kubernetes/object-writes.ts'
import { claimNode } from '../kubernetes/observe.ts'
import { refreshPauses } from '../kubernetes/pause-conditions.ts'
import { readPauses } from '../kubernetes/pauses.ts'
import { keepClaimConditions } from './claim-conditions.ts'
import type { CommitOutcome, DisruptionOutcome, DisruptionProposal } from './contract.ts'
import type { PlanningDeps } from './dependencies.ts'
import { evaluateCluster, validateProposal } from './disruption-world.ts'
import { tellProtections } from './protection-events.ts'
import { tellEvaluation } from './tell-evaluation.ts'
import { recordVerdicts } from './verdicts.ts'

/** Without a change that brings it forward, the cluster is evaluated this often (reference/karpenter-core.md 4.1). */
const evaluateEveryMs = 10_000
const pollMs = 30 * 60_000
/** Candidates marked between two looks at the pause. */
const batchSize = 10
const burstMs = 500
/** A stamp whose command does not run is looked at twice, this far apart. */
const abandonedMs = 5000
const disrupted = { key: taintKeys.disrupted, effect: 'NoSchedule' } as const

/** Evaluates the cluster until a command should be begun. It changes nothing but conditions and events. */
export async function nextDisruption(
  deps: PlanningDeps,
  input: { readonly once: boolean; readonly forced: boolean },
  signal: AbortSignal,
): Promise<DisruptionOutcome> {
  const untilMs = deps.now() + pollMs
  await deps.cache.synced()
  do {
    const pauses = await refreshPauses(deps)
    if (pauses.wholeLoop !== undefined) return { kind: 'paused' }
    await keepClaimConditions(deps)
    tellProtections(deps)
    await releaseAbandoned(deps, signal)
    const plan = await evaluateCluster(deps, { pauses, methods: ['emptiness'], forced: input.forced })
    tellEvaluation(deps, plan)
    recordVerdicts(deps, plan)
    // A burst of new nodes would be a burst of events that say nothing to their owner.
    for (const blocked of plan.blocked) if (!blocked.isPassing) tellBlocked(deps, blocked)
    const [command] = plan.commands
    if (command !== undefined) return { kind: 'proposed', proposal: proposalOf(command, input.forced) }
    if (input.once) break
    const wakeMs = Math.min(evaluateEveryMs, Math.max((plan.nextChange ?? Number.POSITIVE_INFINITY) - deps.now(), 100))
    // What empties a node or lifts a limit is looked at soon, a burst of such changes once.
    if (await deps.cache.changeWithin(wakeMs, mayFreeNodes, signal)) await pauseFor(burstMs, signal)
  } while (deps.now() < untilMs)
  return { kind: 'idle' }
}

/** Whether a change can make a node free to go, or a pool let it go. */
function mayFreeNodes(
  kind: CachedKind,
  _key: string,
  before: CachedObject | undefined,
  after: CachedObject | undefined,
): boolean {
  const isActivePod = (pod: unknown) => pod !== undefined && isActive(pod as Pod)
  if (kind === 'Pod') return isActivePod(before) && !isActivePod(after)
  return kind === 'NodePool' && before?.metadata.generation !== after?.metadata.generation
}

/** The id follows from what is disrupted and from how it stood, so that an evaluation that is run twice proposes the same. */
function proposalOf({ candidates }: DisruptionCommand, forced: boolean): DisruptionProposal {
  const uids = candidates
    .map(({ nodeClaim }) => nodeClaim.metadata.uid)
    .sort()
    .join(',')
  const id = `empty-${createHash('sha256').update(uids).digest('hex').slice(0, 10)}`
  return {
    id,
    reason: 'Empty',
    forced,
    candidates: candidates.map(({ nodeClaim, node, nodePool }) => ({
      name: nodeClaim.metadata.name,
      uid: nodeClaim.metadata.uid,
      nodeName: node.metadata.name,
      nodePool: nodePool.metadata.name,
    })),
  }
}

function tellBlocked(deps: PlanningDeps, { object, reason, message }: Blocked): void {
  const found =
    object.kind === 'NodePool' ? deps.cache.nodePools.get(object.name) : deps.cache.nodeClaims.get(object.name)
  if (found === undefined) return
  const { uid } = found.metadata
  // A pool can be blocked for several disruption reasons at once; its message tells them apart.
  deps.events.record({
    about: subject(found),
    reason,
    message,
    values: object.kind === 'NodePool' ? [uid, message] : [uid],
  })
}

/**
 * Checks a proposal against live state and marks what is still right: stamp, taint, condition. Only then may the command start. Run again after
 * a crash it finds its own stamps and finishes; it never plans anew.
 */
export async function commitDisruption(deps: PlanningDeps, proposal: DisruptionProposal): Promise<CommitOutcome> {
  await deps.cache.synced()
  await deps.cache.catchUp(['Pod', 'Node', 'NodeClaim', 'NodePool', 'PodDisruptionBudget'])
  const pauses = await readPauses(deps, deps.now())
  const valid = await stillValid(deps, proposal, pauses)
  await Promise.all(
    proposal.candidates
      .filter((ref) => !valid.some(({ uid }) => uid === ref.uid))
      .map((ref) => releaseCandidate(deps, ref, proposal.id)),
  )
  if (valid.length === 0) return { kind: 'rejected', message: 'no candidate is empty and free to go any more' }
  for (let at = 0; at < valid.length; at += batchSize) {
    const paused = pausedBy(await readPauses(deps, deps.now()), proposal)
    if (paused !== undefined) {
      await Promise.all(valid.map((ref) => releaseCandidate(deps, ref, proposal.id)))
      return { kind: 'rejected', message: pauseText('disruption', paused) }
    }
    await Promise.all(valid.slice(at, at + batchSize).map((ref) => markCandidate(deps, ref, proposal)))
  }
  // The scheduler may have bound a pod between the look and the taint.
  await deps.cache.catchUp(['Pod'])
  const kept = await stillValid(deps, proposal, pauses)
  const lost = valid.filter((ref) => !kept.some(({ uid }) => uid === ref.uid))
  await Promise.all(lost.map((ref) => releaseCandidate(deps, ref, proposal.id)))
  if (kept.length === 0) return { kind: 'rejected', message: 'pods landed on every candidate while it was tainted' }
  deps.log.info(
    { command: proposal.id, reason: proposal.reason, nodeClaims: kept.map(({ name }) => name) },
    'disrupting nodes',
  )
  return { kind: 'committed', candidates: kept }
}

function pausedBy(pauses: Pauses, { reason, candidates }: DisruptionProposal): Pause | undefined {
  for (const { name, nodeName, nodePool } of candidates) {
    const pause = pauses.covering({ nodePool, node: nodeName, nodeClaim: name, reason })
    if (pause !== undefined) return pause
  }
  return undefined
}

async function stillValid(
  deps: PlanningDeps,
  { id, forced, candidates }: DisruptionProposal,
  pauses: Pauses,
): Promise<readonly ClaimRef[]> {
  const uids = candidates.map(({ uid }) => uid)
  const validation = await validateProposal(
    deps,
    { method: 'emptiness', decision: 'delete', candidates: uids, replacements: 0 },
    { pauses, commandId: id, forced },
  )
  return validation.kind === 'invalid'
    ? []
    : validation.command.candidates.map(({ nodeClaim: { metadata } }) => ({ name: metadata.name, uid: metadata.uid }))
}

async function markCandidate(deps: PlanningDeps, ref: ClaimRef, { id, reason }: DisruptionProposal): Promise<void> {
  const claim = await updateClaim(deps, ref, (current) =>
    current.metadata.annotations[annotations.disruptionCommand] === id
      ? undefined
      : { metadata: { annotations: { [annotations.disruptionCommand]: id } } },
  )
  const node = claim && claimNode(deps, claim)
  if (claim === undefined || node === undefined) return
  await updateNode(deps, node.metadata.name, (current) =>
    current.taints.some((taint) => sameTaint(taint, disrupted))
      ? undefined
      : { spec: { taints: [...current.taints, disrupted] } },
  )
  await updateClaimStatus(deps, ref, (current) =>
    conditionOf(current.status.conditions, 'DisruptionReason')?.reason === reason
      ? undefined
      : {
          conditions: withCondition(
            current.status.conditions,
            { type: 'DisruptionReason', status: 'True', reason, message: reason },
            contextOf(deps, current.metadata.generation),
          ),
        },
  )
}

/** Sets free what carries the stamp of a command that is not running: its commit was given up, or its workflow is gone. */
async function releaseAbandoned(deps: PlanningDeps, signal: AbortSignal): Promise<void> {
  const stamped = [...deps.cache.nodeClaims.values()].filter(
    (claim) =>
      claim.metadata.annotations[annotations.disruptionCommand] !== undefined &&
      claim.metadata.deletionTimestamp === undefined,
  )
  for (const claim of stamped) {
    const commandId = claim.metadata.annotations[annotations.disruptionCommand] as string
    if (await deps.lifecycles.isCommandRunning(commandId)) continue
    // The loop may be about to start it: then this evaluation is cancelled by now, and ends here.
    await pauseFor(abandonedMs, signal)
    if (await deps.lifecycles.isCommandRunning(commandId)) continue
    const current = cachedClaim(deps, claim.metadata)
    if (current?.metadata.deletionTimestamp === undefined) await releaseCandidate(deps, claim.metadata, commandId)
  }
}

function contextOf(
  deps: PlanningDeps,
  generation: number | undefined,
): { readonly now: string; readonly generation: number } {
  return { now: new Date(deps.now()).toISOString().replace(/\.\d+Z$/, 'Z'), generation: generation ?? 1 }
}
