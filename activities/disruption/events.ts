import type { Blocked, Candidate } from '../../core/disruption/candidates.ts'
import { type DisruptionCommand, type DisruptionMethod, methodFacts } from '../../core/disruption/command.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import { scoreText } from '../../core/disruption/score.ts'
import { isPassing } from '../../core/disruption/verdicts/cause.ts'
import { causeText } from '../../core/disruption/verdicts/cause-text.ts'
import { commandText, savingsText } from '../../core/disruption/verdicts/command-text.ts'
import type { EventReason } from '../../core/events.ts'
import type { Node, NodeClaim, NodePool } from '../../core/objects.ts'
import { isReschedulable } from '../../core/pods/pod-rules.ts'
import { labels } from '../../core/requirements/labels.ts'
import { isLeaving } from '../../core/scheduling/state-nodes.ts'
import { stampOf } from '../kubernetes/commands/command-objects.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import type { Parts } from '../kubernetes/parts.ts'
import type { DisruptionProposal } from './contract.ts'

export type DisruptionEventDeps = Pick<Parts, 'cache' | 'events' | 'log' | 'disruptionMetrics'>

/** Publishes the results of an evaluation as events (reference/karpenter-core.md 4.2, 4.7, 4.8, 6.2). */
export function publishFindings(deps: DisruptionEventDeps, evaluation: Evaluation): void {
  for (const blocked of evaluation.blocked) publishBlocked(deps, blocked)
  for (const command of evaluation.commands) publishDecided(deps, command)
}

function publishBlocked(
  deps: DisruptionEventDeps,
  { object, reason, cause, method }: Blocked & { readonly method: DisruptionMethod },
): void {
  if (cause.kind === 'leaving' && belongsToCommand(deps, object)) return
  const message = causeText(cause)
  const { nodePools, nodeClaims, nodes } = deps.cache
  const found: readonly (NodePool | NodeClaim | Node | undefined)[] =
    object.kind === 'NodePool'
      ? [nodePools.get(object.name)]
      : [
          nodeClaims.get(object.name),
          nodes.get(object.nodeName ?? ''),
          ...poolOfRepair(deps, { object, reason, cause }),
        ]
  for (const about of found) {
    if (about === undefined) continue
    const { uid } = about.metadata
    // A burst of new nodes would be a burst of events without use to their owner. Nor may one of these hide what blocks the node afterwards.
    const passing = isPassing(cause) ? ({ values: [uid, 'passing'], limit: 'passing' } as const) : {}
    // A pool can be blocked for several disruption reasons at once, and a sick node for its repair besides; the message distinguishes them.
    const values = object.kind === 'NodePool' || method === 'repair' ? [uid, message] : [uid]
    deps.events.record({ about: subject(about), reason, message, values, ...passing })
  }
}

/** Whether a node leaves for a command, which has its own events: `DisruptionTerminating` says why it goes (reference/karpenter-core.md 4.2). */
function belongsToCommand({ cache }: DisruptionEventDeps, { name, nodeName = '' }: Blocked['object']): boolean {
  const claim = cache.nodeClaims.get(name)
  // What leaves for no reason of its own is reserved for a command that is validated.
  return claim !== undefined && (stampOf(claim) !== undefined || !isLeaving(claim, cache.nodes.get(nodeName)))
}

/** A repair that is blocked concerns the pool as well: too many of its nodes are sick. */
function poolOfRepair({ cache }: DisruptionEventDeps, { object, reason }: Blocked): readonly (NodePool | undefined)[] {
  if (reason !== 'NodeRepairBlocked') return []
  return [cache.nodePools.get(cache.nodeClaims.get(object.name)?.metadata.labels[labels.nodePool] ?? '')]
}

/** Publishes events to both objects of each candidate. */
function publishToCandidates(
  deps: DisruptionEventDeps,
  candidates: readonly Pick<Candidate, 'node' | 'nodeClaim'>[],
  { reason, message }: { readonly reason: EventReason; readonly message: string },
): void {
  for (const { node, nodeClaim } of candidates)
    for (const about of [node, nodeClaim]) deps.events.record({ about: subject(about), reason, message })
}

function publishToPool(
  deps: DisruptionEventDeps,
  nodePool: NodePool | undefined,
  { reason, message }: { readonly reason: EventReason; readonly message: string },
): void {
  if (nodePool === undefined) return
  deps.events.record({ about: subject(nodePool), reason, message, values: [nodePool.metadata.uid, message] })
}

function publishDecided(deps: DisruptionEventDeps, command: DisruptionCommand): void {
  const { method, decision, candidates, savings, scores = [] } = command
  if (methodFacts[method].validation === 'immediate') return
  if (decision === 'replace') {
    const message = `Consolidation candidate: ${commandText(command)} (${savingsText(savings)})`
    publishToCandidates(deps, candidates, { reason: 'ConsolidationCandidate', message })
  }
  for (const score of scores) {
    const own = candidates.filter(({ nodePool }) => nodePool.metadata.name === score.nodePool)
    const approved = { reason: 'ConsolidationApproved', message: scoreText(score) } as const
    // Nodes that go together were judged as one move of their pool (reference/karpenter-core.md 4.8).
    if (method === 'multi-node') publishToPool(deps, own[0]?.nodePool, approved)
    else publishToCandidates(deps, own, approved)
  }
}

/** Publishes that a proposal did not hold when it was validated again. Only for former consolidation, as upstream. */
export function publishRejected(
  deps: DisruptionEventDeps,
  { id, method, decision, savings, candidates: refs, replacements }: DisruptionProposal,
  { reason, message }: { readonly reason: 'budget' | 'scheduling' | 'churn' | 'unknown'; readonly message: string },
): void {
  deps.disruptionMetrics.proposed(method, 'rejected')
  deps.log.info({ command: id, reason, why: message }, 'rejected disruption command')
  if (methodFacts[method].validation === 'immediate') return
  deps.disruptionMetrics.validationFailed(method, refs.length)
  const known = refs.flatMap(({ name, nodeName }) => {
    const [nodeClaim, node] = [deps.cache.nodeClaims.get(name), deps.cache.nodes.get(nodeName)]
    if (nodeClaim === undefined || node === undefined) return []
    return [{ nodeClaim, node, reschedulable: deps.cache.pods.by('byNode', nodeName).filter(isReschedulable) }]
  })
  const command = commandText({ decision, candidates: known, replacements })
  const text = `Consolidation rejected: ${command}, reason: ${reason} (${savingsText(savings)})`
  publishToCandidates(deps, known, { reason: 'ConsolidationRejected', message: text })
}
