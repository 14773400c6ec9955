import { conditionOf } from '../../core/conditions.ts'
import { type DisruptionCommand, methodFacts } from '../../core/disruption/command.ts'
import type { Proposed, Validation } from '../../core/disruption/validate.ts'
import { replacementName } from '../../core/node-claim/node-names.ts'
import type { Node, NodeClaim } from '../../core/objects.ts'
import { type Pause, type Pauses, pauseText } from '../../core/pauses/pauses.ts'
import { annotations, taintKeys } from '../../core/requirements/labels.ts'
import { sameTaint } from '../../core/taints.ts'
import { activityScope } from '../activity-context.ts'
import { forEachOf } from '../concurrency.ts'
import { cachedClaim, setClaimConditions, updateClaim, updateNode } from '../kubernetes/client/object-writes.ts'
import type { CommandObjectsDeps } from '../kubernetes/commands/command-objects.ts'
import { releaseCandidate, releaseReplacement, stampOf } from '../kubernetes/commands/command-objects.ts'
import type { CandidateRef, ClaimRef } from '../kubernetes/contract.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { claimNode } from '../kubernetes/lifecycle/observe.ts'
import type { PauseDeps } from '../kubernetes/pauses/pauses.ts'
import { readPauses } from '../kubernetes/pauses/pauses.ts'
import type { CreateClaimsDeps } from '../provisioning/create-claims.ts'
import { createOne, nominate } from '../provisioning/create-claims.ts'
import { Fence, FenceLostError } from '../provisioning/fence.ts'
import { PoolLimits } from '../provisioning/pool-limits.ts'
import type { CommitOutcome, DisruptionProposal } from './contract.ts'
import type { DisruptionEventDeps } from './events.ts'
import { tellRejected } from './events.ts'
import { memoryOf } from './memory.ts'
import { commandDigest } from './proposals.ts'
import type { EvaluationDeps } from './world.ts'
import { validateTogether } from './world.ts'

export interface CommitDeps
  extends DisruptionEventDeps,
    CommandObjectsDeps,
    CreateClaimsDeps,
    EvaluationDeps,
    PauseDeps {}

/** How old replacements may be that an earlier attempt made, for their command to go on: a worker that died is missed after 10 s. */
const finishWithinMs = 60_000
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
 * Checks proposals of one evaluation against live state and begins those that still hold: taints and conditions first, then the replacements,
 * and the stamps last, by which nodes count as leaving; before there are replacements, their pods would be given others. What fails on the way
 * is undone. Run again after a crash it finishes what has all its replacements, or undoes what there is; it never plans anew. Proposals of one call are either
 * all forced or none is. What they have in common is looked up once, so that many begin about as fast as one.
 */
export async function commitDisruptions(
  deps: CommitDeps,
  proposals: readonly DisruptionProposal[],
): Promise<readonly CommitOutcome[]> {
  const { attemptId, isFirst } = activityScope()
  await deps.cache.synced()
  await deps.cache.catchUp(kinds)
  const fence = await Fence.take(deps, attemptId, 'joiner-disruption-fence')
  const limits = new PoolLimits(
    deps,
    new Set(proposals.flatMap(({ candidates }) => candidates.map(({ name }) => name))),
  )
  const commits = proposals.map((proposal) => new Commit(deps, { fence, limits }, proposal))
  return isFirst ? begin(deps, commits) : Promise.all(commits.map((commit) => commit.finishOrUndo()))
}

/** What fails for one proposal ends the attempt once the others are through; the next attempt finds those that are. */
async function begin(deps: CommitDeps, commits: readonly Commit[]): Promise<readonly CommitOutcome[]> {
  const failures: unknown[] = []
  const each = async (act: (commit: Commit) => Promise<void>) => {
    const results = await Promise.allSettled(commits.filter(({ isOpen }) => isOpen).map(act))
    for (const result of results) if (result.status === 'rejected') failures.push(result.reason)
  }
  try {
    await look(deps, commits)
    await each((commit) => commit.mark())
    // The scheduler may have bound a pod between the look and the taint.
    await deps.cache.catchUp(['Pod'])
    if (failures.length === 0) await look(deps, commits)
    if (failures.length === 0) await each((commit) => commit.complete())
  } catch (error) {
    failures.push(error)
  }
  // Another attempt that has taken over undoes what there is.
  if (failures.some((error) => error instanceof FenceLostError)) throw failures[0]
  const outcomes = await Promise.all(commits.map((commit) => commit.end(failures.length > 0)))
  if (failures.length > 0) throw failures[0]
  return outcomes
}

/** Holds the proposals against the cluster as it is now, each with those before it decided that hold. */
async function look(deps: CommitDeps, commits: readonly Commit[]): Promise<void> {
  const pauses = await readPauses(deps, deps.now())
  const open = commits.filter((commit) => commit.isOpen && commit.obeys(pauses))
  const [first] = open
  if (first === undefined) return
  const validations = await validateTogether(
    deps,
    open.map(({ proposed }) => proposed),
    { pauses, forced: first.isForced },
  )
  for (const [at, commit] of open.entries()) commit.heed(validations[at] as Validation)
}

interface Refusal {
  readonly reason: 'budget' | 'scheduling' | 'churn' | 'unknown'
  readonly message: string
  /** Whether it is the pool that has no room for replacements, whichever node they are for. */
  readonly isOfPool?: boolean
}

/** What was refused is not proposed again at once, whatever an evaluation makes of it. */
function rest(deps: CommitDeps, { reason, candidates }: DisruptionProposal, { isOfPool = false }: Refusal): void {
  const memory = memoryOf(deps)
  for (const { name, nodePool } of candidates) memory.failed(name, isOfPool ? { nodePool, reason } : undefined)
}

interface Shared {
  readonly fence: Fence
  readonly limits: PoolLimits
}

const isTainted = ({ taints }: Node) => taints.some((taint) => sameTaint(taint, disrupted))

/** One proposal on its way to become a command. */
class Commit {
  readonly #deps: CommitDeps
  readonly #shared: Shared
  readonly #proposal: DisruptionProposal
  #candidates: readonly CandidateRef[]
  #replacements: readonly ClaimRef[] = []
  #savings: number
  #hasWritten = false
  #isComplete = false
  #refusal: Refusal | undefined
  /** As the last look found it. */
  #command: DisruptionCommand | undefined

  constructor(deps: CommitDeps, shared: Shared, proposal: DisruptionProposal) {
    this.#deps = deps
    this.#shared = shared
    this.#proposal = proposal
    this.#candidates = proposal.candidates
    this.#savings = proposal.savings
  }

  /** Whether nothing has been found against it so far. */
  get isOpen(): boolean {
    return this.#refusal === undefined
  }

  get isForced(): boolean {
    return this.#proposal.forced
  }

  get proposed(): Proposed {
    const { method, decision, replacements } = this.#proposal
    return { method, decision, candidates: this.#candidates.map(({ uid }) => uid), replacements }
  }

  /** Whether no pause covers it. */
  obeys(pauses: Pauses): boolean {
    this.#refusal = this.#pausedBy(pauses)
    return this.isOpen
  }

  heed(validation: Validation): void {
    if (validation.kind === 'invalid') {
      this.#refusal = validation
      return
    }
    const { command } = validation
    const uids = new Set(command.candidates.map(({ nodeClaim }) => nodeClaim.metadata.uid))
    this.#candidates = this.#candidates.filter(({ uid }) => uids.has(uid))
    this.#savings = Math.round(command.savings * 1e6) / 1e6
    this.#command = command
  }

  async mark(): Promise<void> {
    this.#refusal = await this.#mark()
  }

  /** Replacements and stamps, of what the last look found. */
  async complete(): Promise<void> {
    const command = this.#command as DisruptionCommand
    await this.#releaseLost()
    this.#refusal = (await this.#replace(command)) ?? (await this.#stamp())
    if (this.#refusal !== undefined) return
    this.#isComplete = true
    this.#tell(command)
  }

  /** The outcome, with what has no future undone; `cutShort`: so is all that is not complete. */
  async end(cutShort: boolean): Promise<CommitOutcome> {
    if (this.#isComplete) return this.committed()
    await this.undo()
    const refusal = this.#refusal ?? { reason: 'unknown', message: 'the commit was cut short' }
    if (!cutShort) {
      rest(this.#deps, this.#proposal, refusal)
      tellRejected(this.#deps, this.#proposal, refusal)
    }
    return { kind: 'rejected', message: refusal.message }
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

  /**
   * A later attempt. Replacements come after the marks and stamps come last, so where all replacements are there only stamps can be missing: they
   * are given now, since a replacement that is thrown away was a VM for nothing. Pauses, holds and do-not-disrupt that came meanwhile are found by the
   * last look before a deletion; budgets and the rest are not looked at again, so what is older than a crash takes is undone.
   */
  async finishOrUndo(): Promise<CommitOutcome> {
    const { method, candidates, replacements } = this.#proposal
    const stamped = candidates.filter((ref) => this.#isStamped(ref))
    const made = this.#found().filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    this.#replacements = made.map(({ metadata: { name, uid } }) => ({ name, uid }))
    const isReplaced = made.length === replacements
    // Empty nodes go each by itself: those that were not stamped are freed.
    if (methodFacts[method].holdsInPart && stamped.length > 0) this.#candidates = stamped
    else if (!isReplaced || (stamped.length < candidates.length && !(await this.#isFinished(made))))
      return this.#undone()
    await this.#releaseLost()
    return this.committed()
  }

  async #undone(): Promise<CommitOutcome> {
    this.#hasWritten = true
    await this.undo()
    const message = 'an earlier attempt was cut off; what it had done is undone'
    tellRejected(this.#deps, this.#proposal, { reason: 'unknown', message })
    return { kind: 'rejected', message }
  }

  #isStamped(ref: CandidateRef): boolean {
    const claim = cachedClaim(this.#deps, ref)
    return claim !== undefined && claim.metadata.deletionTimestamp === undefined && stampOf(claim) === this.#proposal.id
  }

  /** Whether what an earlier attempt had begun a moment ago, and had not undone, could be ended by stamps. */
  async #isFinished(made: readonly NodeClaim[]): Promise<boolean> {
    const oldest = Math.min(...made.map(({ metadata }) => Date.parse(metadata.creationTimestamp)))
    if (made.length === 0 || this.#deps.now() - oldest > finishWithinMs) return false
    if (!this.#candidates.every((ref) => this.#isMarked(ref))) return false
    if (this.#pausedBy(await readPauses(this.#deps, this.#deps.now())) !== undefined) return false
    return (await this.#stamp()) === undefined
  }

  #isMarked(ref: CandidateRef): boolean {
    const claim = cachedClaim(this.#deps, ref)
    const node = claim && claimNode(this.#deps, claim)
    return claim !== undefined && node !== undefined && this.#saysWhy(claim) && isTainted(node)
  }

  #saysWhy({ status }: NodeClaim): boolean {
    return conditionOf(status.conditions, 'DisruptionReason')?.reason === this.#proposal.reason
  }

  async undo(): Promise<void> {
    if (!this.#hasWritten) return
    const { id, candidates } = this.#proposal
    await forEachOf(candidates, concurrency, async (ref) => {
      await releaseCandidate(this.#deps, ref, { commandId: id, unstamped: true })
    })
    await forEachOf(this.#found(), concurrency, async (claim) => {
      await releaseReplacement(this.#deps, claim.metadata, { commandId: id })
    })
  }

  /** Replacements that carry the command's id. */
  #found(): readonly NodeClaim[] {
    return [...this.#deps.cache.nodeClaims.values()].filter(
      ({ metadata }) => metadata.annotations[annotations.replacementFor] === this.#proposal.id,
    )
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
      await this.#shared.fence.checkIfStale()
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
        isTainted(current) ? undefined : { spec: { taints: [...current.taints, disrupted] } },
      ),
      setClaimConditions(this.#deps, ref, (current) =>
        this.#saysWhy(current)
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
      await releaseCandidate(this.#deps, ref, { commandId: this.#proposal.id, unstamped: true })
    })
  }

  async #replace({ replacements }: DisruptionCommand): Promise<Refusal | undefined> {
    if (replacements.length === 0) return undefined
    const { id, reason } = this.#proposal
    const paused = this.#pausedBy(await readPauses(this.#deps, this.#deps.now()))
    if (paused !== undefined) return paused
    const refs: ClaimRef[] = []
    for (const [at, planned] of replacements.entries()) {
      const made = await createOne(this.#deps, this.#shared, planned, {
        name: replacementName(planned.nodePool, commandDigest(id), at),
        annotations: { [annotations.replacementFor]: id },
        reason: reason.toLowerCase(),
      })
      if (made.kind !== 'created') {
        const why = made.kind === 'poolGone' ? `NodePool ${planned.nodePool} is gone` : made.message
        const message = `no replacement can be created: ${why}`
        return { reason: 'scheduling', message, isOfPool: made.kind !== 'refused' }
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
    await this.#shared.fence.checkIfStale()
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
  #tell({ method, decision, candidates, plan, replacements }: DisruptionCommand): void {
    this.#deps.disruptionMetrics.decided(
      { method, decision },
      candidates.map(({ nodePool }) => nodePool.metadata.name),
    )
    this.#deps.disruptionMetrics.proposed(method, 'committed')
    for (const { node, nodeClaim, pods } of plan?.existing ?? [])
      for (const pod of pods) nominate(this.#deps, pod, { node, ...(nodeClaim === undefined ? {} : { nodeClaim }) })
    for (const [at, { pods }] of replacements.entries()) {
      const nodeClaim = this.#replacements[at]?.name
      if (nodeClaim !== undefined) for (const pod of pods) nominate(this.#deps, pod, { nodeClaim })
    }
  }
}
