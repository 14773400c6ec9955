import { conditionOf } from '../../core/conditions.ts'
import type { DisruptionCommand } from '../../core/disruption/command.ts'
import { annotations, taintKeys } from '../../core/labels.ts'
import { type Pause, type Pauses, pauseText } from '../../core/pauses.ts'
import { sameTaint } from '../../core/taints.ts'
import { activityScope } from '../activity-context.ts'
import type { ClaimRef } from '../azure/contract.ts'
import { forEachOf } from '../concurrency.ts'
import { releaseCandidate, releaseReplacement, stampOf } from '../kubernetes/command-objects.ts'
import type { CandidateRef } from '../kubernetes/contract.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { setClaimConditions, updateClaim, updateNode } from '../kubernetes/object-writes.ts'
import { claimNode } from '../kubernetes/observe.ts'
import { readPauses } from '../kubernetes/pauses.ts'
import type { CommitOutcome, DisruptionProposal } from './contract.ts'
import { createOne, nominate } from './create-claims.ts'
import type { PlanningDeps } from './dependencies.ts'
import { tellRejected } from './disruption-events.ts'
import { memoryOf } from './disruption-memory.ts'
import { commandDigest } from './disruption-proposals.ts'
import { validateProposal } from './disruption-world.ts'
import { Fence, FenceLostError } from './fence.ts'
import { PoolLimits } from './pool-limits.ts'

/** Candidates marked between two looks at the pause. */
const batchSize = 10
const concurrency = 16
/** How long replacements may take, by the number of nodes that are being disrupted (reference/karpenter-core.md 4.11). */
const readyMsPerNode = 80
const shortestReadyMs = 10 * 60_000
const longestReadyMs = 60 * 60_000
const disrupted = { key: taintKeys.disrupted, effect: 'NoSchedule' } as const
/** What a validation depends on. */
const kinds = ['Pod', 'Node', 'NodeClaim', 'NodePool', 'PodDisruptionBudget'] as const

/**
 * Checks a proposal against live state and begins it: taints and conditions first, then the replacements, and the stamps last, by which nodes
 * count as leaving; before there are replacements, their pods would be given others. Whatever fails on the way is undone. Run again after a
 * crash it finds all that done, or undoes what there is; it never plans anew.
 */
export async function commitDisruption(deps: PlanningDeps, proposal: DisruptionProposal): Promise<CommitOutcome> {
  const { attemptId, isFirst } = activityScope()
  await deps.cache.synced()
  await deps.cache.catchUp(kinds)
  const fence = await Fence.take(deps, attemptId, 'joiner-disruption-fence')
  const commit = new Commit(deps, fence, proposal)
  if (!isFirst) return commit.finishOrUndo()
  try {
    const refusal = await commit.begin()
    if (refusal === undefined) return commit.committed()
    await commit.undo()
    rest(deps, proposal, refusal)
    tellRejected(deps, proposal, refusal)
    return { kind: 'rejected', message: refusal.message }
  } catch (error) {
    // Another attempt has taken over, and undoes what there is.
    if (!(error instanceof FenceLostError)) await commit.undo()
    throw error
  }
}

interface Refusal {
  readonly reason: 'budget' | 'scheduling' | 'churn' | 'unknown'
  readonly message: string
  /** Whether it is the pool that has no room for replacements, whichever node they are for. */
  readonly isOfPool?: boolean
}

/** What was refused is not proposed again at once, whatever an evaluation makes of it. */
function rest(deps: PlanningDeps, { reason, candidates }: DisruptionProposal, { isOfPool = false }: Refusal): void {
  const memory = memoryOf(deps)
  for (const { name, nodePool } of candidates) memory.failed(name, isOfPool ? { nodePool, reason } : undefined)
}

class Commit {
  readonly #deps: PlanningDeps
  readonly #fence: Fence
  readonly #proposal: DisruptionProposal
  #candidates: readonly CandidateRef[]
  #replacements: readonly ClaimRef[] = []
  #savings: number
  #hasWritten = false

  constructor(deps: PlanningDeps, fence: Fence, proposal: DisruptionProposal) {
    this.#deps = deps
    this.#fence = fence
    this.#proposal = proposal
    this.#candidates = proposal.candidates
    this.#savings = proposal.savings
  }

  /** Begins the command; what is returned says why it cannot be begun. */
  async begin(): Promise<Refusal | undefined> {
    const first = await this.#valid()
    if ('message' in first) return first
    const marked = await this.#mark()
    if (marked !== undefined) return marked
    // The scheduler may have bound a pod between the look and the taint.
    await this.#deps.cache.catchUp(['Pod'])
    const command = await this.#valid()
    if ('message' in command) return command
    await this.#releaseLost()
    return (await this.#replace(command)) ?? (await this.#stamp()) ?? this.#tell(command)
  }

  committed(): CommitOutcome {
    const { cache, now, log } = this.#deps
    const inFlight = [...cache.nodeClaims.values()].filter((claim) => stampOf(claim) !== undefined).length
    const readyMs = Math.min(Math.max(readyMsPerNode * inFlight, shortestReadyMs), longestReadyMs)
    log.info(
      {
        command: this.#proposal.id,
        reason: this.#proposal.reason,
        nodeClaims: this.#candidates.map(({ name }) => name),
        replacements: this.#replacements.map(({ name }) => name),
        savings: this.#savings,
      },
      'disrupting nodes',
    )
    return {
      kind: 'committed',
      candidates: this.#candidates,
      replacements: this.#replacements,
      readyByMs: now() + readyMs,
      savings: this.#savings,
    }
  }

  /** A later attempt: stamps come last, so where all candidates have theirs nothing is missing. */
  async finishOrUndo(): Promise<CommitOutcome> {
    const { nodeClaims } = this.#deps.cache
    const { id, method, candidates, replacements } = this.#proposal
    const stamped = candidates.filter(({ name, uid }) => {
      const claim = nodeClaims.get(name)
      return claim?.metadata.uid === uid && claim.metadata.deletionTimestamp === undefined && stampOf(claim) === id
    })
    this.#replacements = this.#found()
    const isWhole = stamped.length === candidates.length && this.#replacements.length === replacements
    // Empty nodes go each by itself: those that were not stamped are freed.
    if (isWhole || (method === 'emptiness' && stamped.length > 0)) {
      this.#candidates = stamped
      await this.#releaseLost()
      return this.committed()
    }
    this.#hasWritten = true
    await this.undo()
    const message = 'an earlier attempt was cut off; what it had done is undone'
    tellRejected(this.#deps, this.#proposal, { reason: 'unknown', message })
    return { kind: 'rejected', message }
  }

  async undo(): Promise<void> {
    if (!this.#hasWritten) return
    const { id, candidates } = this.#proposal
    await forEachOf(candidates, concurrency, async (ref) => {
      await releaseCandidate(this.#deps, ref, id, { unstamped: true })
    })
    await forEachOf(this.#found(), concurrency, async (ref) => {
      await releaseReplacement(this.#deps, ref, id)
    })
  }

  /** Replacements that carry the command's id. */
  #found(): readonly ClaimRef[] {
    return [...this.#deps.cache.nodeClaims.values()]
      .filter(({ metadata }) => metadata.annotations[annotations.replacementFor] === this.#proposal.id)
      .map(({ metadata: { name, uid } }) => ({ name, uid }))
  }

  async #valid(): Promise<DisruptionCommand | Refusal> {
    const { id, method, decision, replacements, forced } = this.#proposal
    const pauses = await readPauses(this.#deps, this.#deps.now())
    const paused = this.#pausedBy(pauses)
    if (paused !== undefined) return paused
    const candidates = this.#candidates.map(({ uid }) => uid)
    const proposed = { method, decision, candidates, replacements }
    const validation = await validateProposal(this.#deps, proposed, { pauses, commandId: id, forced })
    if (validation.kind === 'invalid') return validation
    const { command } = validation
    const uids = new Set(command.candidates.map(({ nodeClaim }) => nodeClaim.metadata.uid))
    this.#candidates = this.#candidates.filter(({ uid }) => uids.has(uid))
    this.#savings = Math.round(command.savings * 1e6) / 1e6
    return command
  }

  #pausedBy(pauses: Pauses): Refusal | undefined {
    const { reason } = this.#proposal
    for (const { name, nodeName, nodePool } of this.#candidates) {
      const pause: Pause | undefined = pauses.covering({ nodePool, node: nodeName, nodeClaim: name, reason })
      if (pause !== undefined) return { reason: 'unknown', message: pauseText('disruption', pause) }
    }
    return undefined
  }

  /** Taints and conditions, some at a time, so that a pause that comes in between is obeyed. */
  async #mark(): Promise<Refusal | undefined> {
    for (let at = 0; at < this.#candidates.length; at += batchSize) {
      if (at > 0) {
        const paused = this.#pausedBy(await readPauses(this.#deps, this.#deps.now()))
        if (paused !== undefined) return paused
      }
      await this.#fence.checkIfStale()
      this.#hasWritten = true
      await forEachOf(this.#candidates.slice(at, at + batchSize), batchSize, (ref) => this.#markOne(ref))
    }
    return undefined
  }

  /** What is gone by now is found by the look that follows. */
  async #markOne(ref: ClaimRef): Promise<void> {
    const { reason } = this.#proposal
    const claim = this.#deps.cache.nodeClaims.get(ref.name)
    const node = claim && claimNode(this.#deps, claim)
    if (node === undefined) return
    await Promise.all([
      updateNode(this.#deps, node.metadata.name, (current) =>
        current.taints.some((taint) => sameTaint(taint, disrupted))
          ? undefined
          : { spec: { taints: [...current.taints, disrupted] } },
      ),
      setClaimConditions(this.#deps, ref, ({ status }) =>
        conditionOf(status.conditions, 'DisruptionReason')?.reason === reason
          ? undefined
          : { conditions: [{ type: 'DisruptionReason', status: 'True', reason, message: reason }] },
      ),
    ])
  }

  /** Empty nodes that do not stay empty are left out; of other commands nothing can be missing here. */
  async #releaseLost(): Promise<void> {
    const kept = new Set(this.#candidates.map(({ uid }) => uid))
    const lost = this.#proposal.candidates.filter(({ uid }) => !kept.has(uid))
    await forEachOf(lost, concurrency, async (ref) => {
      await releaseCandidate(this.#deps, ref, this.#proposal.id, { unstamped: true })
    })
  }

  async #replace({ replacements }: DisruptionCommand): Promise<Refusal | undefined> {
    if (replacements.length === 0) return undefined
    const { id, reason } = this.#proposal
    const paused = this.#pausedBy(await readPauses(this.#deps, this.#deps.now()))
    if (paused !== undefined) return paused
    const limits = new PoolLimits(this.#deps, new Set(this.#candidates.map(({ name }) => name)))
    const refs: ClaimRef[] = []
    for (const [at, planned] of replacements.entries()) {
      const made = await createOne(this.#deps, { fence: this.#fence, limits }, planned, {
        name: `${planned.nodePool}-${commandDigest(id)}-${at}`,
        annotations: { [annotations.replacementFor]: id },
        reason: reason.toLowerCase(),
      })
      if (made.kind !== 'created') {
        const message = made.kind === 'poolGone' ? `NodePool ${planned.nodePool} is gone` : made.message
        return { reason: 'scheduling', message: `no replacement can be created: ${message}`, isOfPool: true }
      }
      const { name, uid } = made.claim.metadata
      refs.push({ name, uid })
      this.#deps.events.record({
        about: subject(made.claim),
        reason: 'DisruptionLaunching',
        message: `Launching NodeClaim: ${reason}`,
      })
    }
    this.#replacements = refs
    return undefined
  }

  async #stamp(): Promise<Refusal | undefined> {
    const { id } = this.#proposal
    let lost: string | undefined
    await this.#fence.checkIfStale()
    await forEachOf(this.#candidates, concurrency, async (ref) => {
      const after = await updateClaim(this.#deps, ref, (current) =>
        stampOf(current) === id ? undefined : { metadata: { annotations: { [annotations.disruptionCommand]: id } } },
      )
      if (after === undefined || after.metadata.deletionTimestamp !== undefined) lost = ref.name
    })
    return lost === undefined
      ? undefined
      : { reason: 'churn', message: `NodeClaim ${lost} was deleted by somebody else meanwhile` }
  }

  /** The places that the pods are to have are not disrupted meanwhile. */
  #tell({ method, decision, candidates, plan }: DisruptionCommand): undefined {
    this.#deps.disruptionMetrics.decided(
      { method, decision },
      candidates.map(({ nodePool }) => nodePool.metadata.name),
    )
    this.#deps.disruptionMetrics.proposed(method, 'committed')
    for (const { node, nodeClaim, pods } of plan?.existing ?? [])
      for (const pod of pods) nominate(this.#deps, pod, { node, ...(nodeClaim === undefined ? {} : { nodeClaim }) })
    for (const [at, { pods }] of (plan?.newNodeClaims ?? []).entries()) {
      const nodeClaim = this.#replacements[at]?.name
      if (nodeClaim !== undefined) for (const pod of pods) nominate(this.#deps, pod, { nodeClaim })
    }
  }
}
