import { isTrue } from '../../../core/conditions.ts'
import { remainingBudgets } from '../../../core/disruption/budgets/pool-budgets.ts'
import { type DisruptionCommand, methodFacts } from '../../../core/disruption/command.ts'
import { invalidText, type Proposed, type Validation } from '../../../core/disruption/validate.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { Pauses } from '../../../core/pauses/pauses.ts'
import { forEachOf } from '../../concurrency.ts'
import { stampOf } from '../../kubernetes/commands/command-objects.ts'
import type { CandidateRef, ClaimRef } from '../../kubernetes/contract.ts'
import { livePodsOn } from '../../kubernetes/lifecycle/live-pods.ts'
import { readPauses } from '../../kubernetes/pauses/pauses.ts'
import { nominate } from '../../provisioning/create-claims.ts'
import { type Fence, FenceLostError } from '../../provisioning/fence.ts'
import { PoolLimits } from '../../provisioning/pool-limits.ts'
import type { CommitOutcome, DisruptionProposal } from '../contract.ts'
import { type DisruptionEventDeps, publishRejected } from '../events.ts'
import { memoryOf } from '../memory.ts'
import { knownSavings } from '../proposals.ts'
import { type EvaluationDeps, validateTogether, viewOf } from '../world.ts'
import { CommandWrites, type CommandWritesDeps, type Refusal, type Shared } from './command-writes.ts'

export interface CommitDeps extends DisruptionEventDeps, CommandWritesDeps, EvaluationDeps {}

/** Greatest age of an earlier attempt's replacements for their command to go on: a dead worker is noticed after 10 s. */
const finishWithinMs = 60_000
/** Time for replacements, by the number of nodes that are being disrupted (reference/karpenter-core.md 4.11). */
const readyMsPerNode = 80
const shortestReadyMs = 10 * 60_000
const longestReadyMs = 60 * 60_000

/** A proposal to commit. */
export interface ToCommit {
  readonly proposal: DisruptionProposal
  /** Whether no earlier attempt can have left anything behind. */
  readonly isFirst: boolean
}

/** An attempt that is to be repeated. */
export interface Failed {
  readonly kind: 'failed'
  readonly error: unknown
}

/**
 * Validates proposals against the cluster and begins those that still hold: taints and conditions, then replacements, then stamps. With the stamp nodes
 * count as leaving: before there are replacements, their pods would be given others. What fails on the way is undone. Those that an earlier attempt has
 * tried are finished where they have all their replacements, or undone; they are never planned again. Proposals of one call are either all forced or
 * none is. They share lookups, so that many begin about as fast as one.
 */
export async function commitDisruptions(
  deps: CommitDeps,
  fence: Fence,
  proposals: readonly ToCommit[],
): Promise<readonly (CommitOutcome | Failed)[]> {
  // A replacement in a static NodePool takes a slot of its own.
  const others = proposals.flatMap(({ proposal: { candidates } }) =>
    candidates.filter(({ nodePool }) => deps.cache.nodePools.get(nodePool)?.isStatic !== true),
  )
  const limits = new PoolLimits(deps, new Set(others.map(({ name }) => name)))
  const commits = proposals.map(({ proposal, isFirst }) => ({
    isFirst,
    commit: new Commit(deps, { fence, limits }, proposal),
  }))
  const tried = new Map<Commit, CommitOutcome | Failed>()
  for (const { isFirst, commit } of commits) if (!isFirst || commit.hasBegun) tried.set(commit, await finished(commit))
  const fresh = commits.flatMap(({ commit }) => (tried.has(commit) ? [] : [commit]))
  const begun = await begin(deps, fresh)
  return commits.map(({ commit }) => (tried.get(commit) ?? begun[fresh.indexOf(commit)]) as CommitOutcome | Failed)
}

/** What an earlier attempt has begun concerns no other proposal, nor does its failure. Errors: `FenceLostError`. */
async function finished(commit: Commit): Promise<CommitOutcome | Failed> {
  try {
    return await commit.finishOrUndo()
  } catch (error) {
    if (error instanceof FenceLostError) throw error
    return { kind: 'failed', error }
  }
}

/** Begins proposals. A failure of one ends the attempt once the others are through; the next attempt finds those that began. */
async function begin(deps: CommitDeps, commits: readonly Commit[]): Promise<readonly CommitOutcome[]> {
  const failures: unknown[] = []
  const each = async (act: (commit: Commit) => Promise<void>) => {
    const results = await Promise.allSettled(commits.filter(({ isOpen }) => isOpen).map(act))
    for (const result of results) if (result.status === 'rejected') failures.push(result.reason)
  }
  try {
    await look(deps, commits)
    await each((commit) => commit.mark())
    // The scheduler may have bound a pod between the validation and the taint: with the stamp it would be given another node.
    await forEachOf(
      commits.flatMap((commit) => commit.nodes),
      readsAtOnce,
      async (node) => {
        await livePodsOn(deps, node)
      },
    )
    if (failures.length === 0) await look(deps, commits)
    if (failures.length === 0) await each((commit) => commit.complete())
  } catch (error) {
    failures.push(error)
  }
  // Another attempt that has taken over undoes what is there.
  if (failures.some((error) => error instanceof FenceLostError)) throw failures[0]
  const outcomes = await Promise.all(commits.map((commit) => commit.end(failures.length > 0)))
  if (failures.length > 0) throw failures[0]
  return outcomes
}

const cutOff: Refusal = { reason: 'unknown', message: 'an earlier attempt was cut off; what it had done is undone' }

/** Nodes whose pods are read at once. */
const readsAtOnce = 16

/** Validates the proposals against the cluster as it is now, each after the earlier ones that hold. */
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
  for (const [at, commit] of open.entries()) commit.applyValidation(validations[at] as Validation)
}

/** Backs off what was refused, so that no evaluation proposes it again at once. */
function rest(deps: CommitDeps, { reason, candidates }: DisruptionProposal, { isOfPool = false }: Refusal): void {
  const memory = memoryOf(deps)
  for (const { name, nodePool } of candidates) memory.failed(name, isOfPool ? { nodePool, reason } : undefined)
}

/** One proposal on its way to become a command. */
class Commit {
  readonly #deps: CommitDeps
  readonly #writes: CommandWrites
  readonly #proposal: DisruptionProposal
  #candidates: readonly CandidateRef[]
  #replacements: readonly ClaimRef[] = []
  #savings: number
  #hasWritten = false
  #isComplete = false
  #refusal: Refusal | undefined
  /** As the last validation found it. */
  #command: DisruptionCommand | undefined

  constructor(deps: CommitDeps, shared: Shared, proposal: DisruptionProposal) {
    this.#deps = deps
    this.#writes = new CommandWrites(deps, shared, proposal)
    this.#proposal = proposal
    this.#candidates = proposal.candidates
    this.#savings = proposal.savings
  }

  /** Whether nothing has been found against it so far. */
  get isOpen(): boolean {
    return this.#refusal === undefined
  }

  /** Whether the cluster knows of the command: its workflow was reset, and asks again for what it has. */
  get hasBegun(): boolean {
    return (
      this.#writes.replacements().length > 0 || this.#proposal.candidates.some((ref) => this.#writes.isStamped(ref))
    )
  }

  /** The Nodes of its candidates, while nothing was found against it. */
  get nodes(): readonly string[] {
    return this.isOpen ? this.#candidates.map(({ nodeName }) => nodeName) : []
  }

  get #isReboot(): boolean {
    return this.#proposal.decision === 'reboot'
  }

  get isForced(): boolean {
    return this.#proposal.forced
  }

  get proposed(): Proposed {
    const { method, decision, replacements } = this.#proposal
    return { method, decision, candidates: this.#candidates.map(({ uid }) => uid), replacements }
  }

  /** Returns whether no pause covers it. */
  obeys(pauses: Pauses): boolean {
    this.#refusal = this.#writes.pausedBy(pauses, this.#candidates)
    return this.isOpen
  }

  applyValidation(validation: Validation): void {
    if (validation.kind === 'invalid') {
      this.#refusal = { reason: validation.reason, message: invalidText(validation) }
      return
    }
    const { command } = validation
    const uids = new Set(command.candidates.map(({ nodeClaim }) => nodeClaim.metadata.uid))
    this.#candidates = this.#candidates.filter(({ uid }) => uids.has(uid))
    this.#savings = knownSavings(command)
    this.#command = command
  }

  async mark(): Promise<void> {
    if (this.#isReboot) return
    this.#hasWritten = true
    this.#refusal = await this.#writes.mark(this.#candidates)
  }

  /** Writes replacements and stamps for what the last validation found. */
  async complete(): Promise<void> {
    const command = this.#command as DisruptionCommand
    if (this.#isReboot) return this.#handOver(command)
    await this.#releaseLost()
    this.#refusal = (await this.#replace(command)) ?? (await this.#writes.stamp(this.#candidates))
    if (this.#refusal !== undefined) return
    this.#isComplete = true
    this.#publish(command)
  }

  /** Returns the outcome, and undoes what cannot become a command; with `cutShort` also all that is not complete. */
  async end(cutShort: boolean): Promise<CommitOutcome> {
    if (this.#isComplete) return this.committed()
    if (this.#hasWritten) await this.#writes.undo()
    const refusal = this.#refusal ?? { reason: 'unknown', message: 'the commit was cut short' }
    if (!cutShort) {
      rest(this.#deps, this.#proposal, refusal)
      publishRejected(this.#deps, this.#proposal, refusal)
    }
    return { kind: 'rejected', message: refusal.message }
  }

  async #handOver(command: DisruptionCommand): Promise<void> {
    if (command.repair !== undefined) this.#refusal = await this.#writes.requestReboot(command.repair)
    if (this.#refusal !== undefined) return
    this.#isComplete = true
    this.#publish(command)
  }

  committed(): CommitOutcome {
    if (this.#isReboot) return { kind: 'handedOver' }
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
      committedMs: now(),
      savings: this.#savings,
    }
  }

  /**
   * Runs a later attempt. Replacements come after the marks and stamps come last, so where all replacements are there only stamps can be missing.
   * They are written now, since an unused replacement wastes a VM. Pauses, holds and do-not-disrupt that came meanwhile are found by the last
   * validation before a deletion. Budgets are looked at again; the rest is not, so what is older than the time for a crash is undone.
   */
  async finishOrUndo(): Promise<CommitOutcome> {
    const { method, candidates, replacements } = this.#proposal
    if (this.#isReboot) {
      if (candidates.every((ref) => this.#writes.isRebooting(ref))) return this.committed()
      // Nothing of a reboot shows before its request, so that without a rest the next evaluation would propose it again at once.
      rest(this.#deps, this.#proposal, cutOff)
      return this.#undone()
    }
    const stamped = candidates.filter((ref) => this.#writes.isStamped(ref))
    const made = this.#writes.replacements().filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    this.#replacements = made.map(({ metadata: { name, uid } }) => ({ name, uid }))
    const isReplaced = made.length === replacements
    // Empty nodes go each by itself: those that were not stamped are released.
    if (methodFacts[method].holdsInPart && stamped.length > 0) this.#candidates = stamped
    else if (!isReplaced || (stamped.length < candidates.length && !(await this.#isFinished(made))))
      return this.#undone()
    await this.#releaseLost()
    return this.committed()
  }

  async #undone(): Promise<CommitOutcome> {
    await this.#writes.undo()
    publishRejected(this.#deps, this.#proposal, cutOff)
    return { kind: 'rejected', message: cutOff.message }
  }

  /** Returns whether a command that an earlier attempt began just now, and did not undo, only needs stamps. */
  async #isFinished(made: readonly NodeClaim[]): Promise<boolean> {
    const oldest = Math.min(...made.map(({ metadata }) => Date.parse(metadata.creationTimestamp)))
    if (made.length === 0 || this.#deps.now() - oldest > finishWithinMs) return false
    if (!this.#candidates.every((ref) => this.#writes.isMarked(ref))) return false
    if ((await this.#writes.paused(this.#candidates)) !== undefined) return false
    // Other commands may have been committed since, by the next planner: this one did not count before its stamps.
    const unstamped = this.#candidates.filter((ref) => !this.#writes.isStamped(ref))
    if (!hasBudgetRoom(this.#deps, { candidates: unstamped, reason: this.#proposal.reason })) return false
    return (await this.#writes.stamp(this.#candidates)) === undefined
  }

  /** Releases empty nodes that did not stay empty. Other commands can miss no candidates here. */
  async #releaseLost(): Promise<void> {
    const kept = new Set(this.#candidates.map(({ uid }) => uid))
    const lost = this.#proposal.candidates.filter(({ uid }) => !kept.has(uid))
    await this.#writes.release(lost)
  }

  async #replace(command: DisruptionCommand): Promise<Refusal | undefined> {
    if (command.replacements.length === 0) return undefined
    const paused = await this.#writes.paused(this.#candidates)
    if (paused !== undefined) return paused
    const made = await this.#writes.replace(command)
    if ('reason' in made) return made
    this.#replacements = made
    return undefined
  }

  /** Nominates the places that the pods are to have, so that these are not disrupted meanwhile. */
  #publish({ method, decision, candidates, plan, replacements }: DisruptionCommand): void {
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

/**
 * Returns whether budgets allow that candidates of a proposal get their stamps, by the cache at this moment. Nodes that have not initialized use up none:
 * only a repair takes them.
 */
function hasBudgetRoom(
  deps: EvaluationDeps,
  { candidates, reason }: Pick<DisruptionProposal, 'candidates' | 'reason'>,
): boolean {
  const budgets = remainingBudgets(viewOf(deps, new Pauses([])), reason)
  const counted = candidates.filter(({ name }) => {
    const claim = deps.cache.nodeClaims.get(name)
    return claim !== undefined && isTrue(claim.status.conditions, 'Initialized')
  })
  return [...Map.groupBy(counted, ({ nodePool }) => nodePool)].every(
    ([pool, own]) => own.length <= (budgets.get(pool)?.remaining ?? 0),
  )
}
