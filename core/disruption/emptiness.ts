import { durationMs } from '../duration.ts'
import { annotations } from '../labels.ts'
import type { NodeClaim, NodePool, Pod } from '../objects.ts'
import type { Pauses } from '../pauses.ts'
import { isActive, isReschedulable } from '../pod-rules.ts'
import {
  type Blocked,
  type Candidate,
  type DisruptionSnapshot,
  eligibility,
  lookupsOf,
  remainingBudgets,
} from './candidates.ts'
import { consolidatableAt } from './consolidatable.ts'

export interface EmptinessCandidate {
  readonly nodeClaim: string
  readonly uid: string
  readonly nodeName: string
  readonly nodePool: string
}

/** Nodes to delete without replacement. */
export interface EmptinessCommand {
  readonly reason: 'Empty'
  readonly candidates: readonly EmptinessCandidate[]
}

export interface EmptinessPlan {
  readonly command?: EmptinessCommand
  readonly blocked: readonly Blocked[]
  /** When the passing of time alone next makes a node eligible, in epoch ms. */
  readonly nextChange?: number
}

export interface EmptinessOptions {
  /** What a pool's budgets allow for this reason at this moment, of so many nodes. */
  readonly budgetFor: (nodePool: NodePool, nodes: number) => number
  /** An operator asked to consolidate now: consolidateAfter is not waited for. */
  readonly forced?: boolean
}

/** Whether nothing on a node needs another place. Daemons, mirror pods and pods that have ended do not count. */
function isEmpty(pods: readonly Pod[]): boolean {
  return !pods.some(isReschedulable)
}

/** The empty nodes that may go now, oldest first, and what keeps the others (reference/karpenter-core.md 4.2, 4.5). */
export function emptyCandidates(
  snapshot: DisruptionSnapshot,
  forced = false,
): { readonly candidates: readonly Candidate[]; readonly blocked: readonly Blocked[]; readonly nextChange?: number } {
  const lookups = lookupsOf(snapshot)
  const candidates: Candidate[] = []
  const blocked: Blocked[] = []
  const changes: number[] = []
  for (const claim of inOrder(snapshot.nodeClaims)) {
    const found = eligibility(claim, snapshot, lookups)
    if (found.kind === 'blocked') {
      const { nodeName, message, isPassing } = found
      if (message !== undefined) blocked.push(block(claim, nodeName, 'DisruptionBlocked', message, isPassing))
      changes.push(...protectionEnds(snapshot.podsByNode.get(found.nodeName ?? '') ?? []))
      continue
    }
    const { candidate } = found
    const { nodePool, node, pods } = candidate
    if (nodePool.isStatic) continue
    const due = consolidatableAt(claim, nodePool)
    if (durationMs(nodePool.disruption.consolidateAfter) === undefined) {
      const message = `NodePool "${nodePool.metadata.name}" has consolidation disabled`
      blocked.push(block(claim, node.metadata.name, 'Unconsolidatable', message))
    } else if (isEmpty(pods) && due !== undefined && !isPaused(candidate, snapshot.pauses)) {
      if (forced || due <= snapshot.now) candidates.push(candidate)
      else changes.push(due)
    }
  }
  const upcoming = changes.filter((time) => time > snapshot.now)
  return { candidates, blocked, ...(upcoming.length === 0 ? {} : { nextChange: Math.min(...upcoming) }) }
}

function isPaused({ nodePool, node, nodeClaim }: Candidate, pauses: Pauses | undefined): boolean {
  const target = { nodePool: nodePool.metadata.name, node: node.metadata.name, nodeClaim: nodeClaim.metadata.name }
  return pauses?.covering({ ...target, reason: 'Empty' }) !== undefined
}

/** One command for all empty nodes that the budgets let go (reference/karpenter-core.md 4.8). */
export function planEmptiness(snapshot: DisruptionSnapshot, options: EmptinessOptions): EmptinessPlan {
  const { candidates, blocked, nextChange } = emptyCandidates(snapshot, options.forced)
  const remaining = remainingBudgets(snapshot, lookupsOf(snapshot), options.budgetFor)
  const chosen = withinBudgets(candidates, new Map(remaining))
  const exhausted = [...new Set(candidates.map(({ nodePool }) => nodePool.metadata.name))].filter(
    (pool) => (remaining.get(pool) ?? 0) === 0,
  )
  const message = 'No allowed disruptions for disruption reason Empty due to blocking budget'
  return {
    ...(chosen.length === 0 ? {} : { command: { reason: 'Empty' as const, candidates: chosen } }),
    blocked: [
      ...blocked,
      ...exhausted.map((name) => ({
        object: { kind: 'NodePool' as const, name },
        reason: 'DisruptionBlocked' as const,
        message,
      })),
    ],
    ...(nextChange === undefined ? {} : { nextChange }),
  }
}

/** The part of a command that a later look at the cluster still agrees with; empty when none of it holds (reference/karpenter-core.md 4.9). */
export function validateEmptiness(
  command: EmptinessCommand,
  fresh: DisruptionSnapshot,
  options: EmptinessOptions,
): readonly EmptinessCandidate[] {
  const named = new Set(command.candidates.map(({ uid }) => uid))
  const { candidates } = emptyCandidates(fresh, options.forced)
  const remaining = remainingBudgets(fresh, lookupsOf(fresh), options.budgetFor)
  return withinBudgets(
    candidates.filter(({ nodeClaim }) => named.has(nodeClaim.metadata.uid)),
    remaining,
  )
}

/** Takes candidates in their order for as long as their pools' budgets last. */
function withinBudgets(
  candidates: readonly Candidate[],
  remaining: Map<string, number>,
): readonly EmptinessCandidate[] {
  const chosen: EmptinessCandidate[] = []
  for (const { nodeClaim, node, nodePool } of candidates) {
    const pool = nodePool.metadata.name
    const left = remaining.get(pool) ?? 0
    if (left <= 0) continue
    remaining.set(pool, left - 1)
    chosen.push({
      nodeClaim: nodeClaim.metadata.name,
      uid: nodeClaim.metadata.uid,
      nodeName: node.metadata.name,
      nodePool: pool,
    })
  }
  return chosen
}

function inOrder(claims: readonly NodeClaim[]): readonly NodeClaim[] {
  const key = ({ metadata }: NodeClaim) => `${metadata.creationTimestamp} ${metadata.name}`
  return [...claims].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

function block(
  claim: NodeClaim,
  nodeName: string | undefined,
  reason: Blocked['reason'],
  message: string,
  isPassing = false,
): Blocked {
  const object = {
    kind: 'NodeClaim' as const,
    name: claim.metadata.name,
    ...(nodeName === undefined ? {} : { nodeName }),
  }
  return { object, reason, message, ...(isPassing ? { isPassing } : {}) }
}

/** When the timed do-not-disrupt annotations of pods end. */
function protectionEnds(pods: readonly Pod[]): readonly number[] {
  return pods.filter(isActive).flatMap((pod) => {
    const duration = durationMs(pod.metadata.annotations[annotations.doNotDisrupt])
    return duration === undefined || pod.startTime === undefined ? [] : [Date.parse(pod.startTime) + duration]
  })
}
