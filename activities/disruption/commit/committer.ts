import { pauseOf } from '../../abortable-wait.ts'
import { type Fence, FenceLostError } from '../../provisioning/fence.ts'
import type { CommitOutcome, DisruptionProposal } from '../contract.ts'
import { Validations } from '../validations.ts'
import { type CommitDeps, commitDisruptions } from './commit.ts'

/** Most proposals of one round. */
const mostAtOnce = 10
/** Proposals that are due together come within this time, each by its own workflow. */
const gatherMs = 50

/** The right to commit, for as long as this process plans. */
export interface Lead {
  readonly deps: CommitDeps
  readonly fence: Fence
  /** Fires when it plans no more. */
  readonly signal: AbortSignal
}

interface Waiting {
  readonly proposal: DisruptionProposal
  readonly isFirst: boolean
  readonly decided: PromiseWithResolvers<CommitOutcome>
}

/**
 * The only committer of a cluster: the process that plans commits in rounds, one after the other, in the order of the proposals. Commands ask for it in
 * activities, which wait here for their turn. No evaluation writes beside a round (`exclusively`), and one that a round overtakes ends.
 */
export class Committer {
  /** What waits for its commit. */
  readonly validations = new Validations()
  #waiting: Waiting[] = []
  #lead: Lead | undefined
  /** Ends the evaluation that is under way. */
  #overtaken = new AbortController()
  /** The work that no other runs beside. */
  #turn: Promise<unknown> = Promise.resolve()
  #rounds: Promise<void> | undefined
  /** Whether an attempt has failed whose writes the cache may lack. */
  #mayLackWrites = false

  /** Begins to commit. */
  lead(lead: Lead): void {
    this.#lead = lead
    this.#begin()
  }

  /** Commits no more, until it leads again. */
  follow(): void {
    this.#lead = undefined
  }

  /** Whether the right to commit is still there. */
  get isLeading(): boolean {
    return this.#lead !== undefined
  }

  /** Commits a proposal, once this process plans and it is its turn. `isFirst`: no earlier attempt has tried. Errors: those of `commitDisruptions`. */
  commit(proposal: DisruptionProposal, isFirst: boolean, signal: AbortSignal): Promise<CommitOutcome> {
    const waiting: Waiting = { proposal, isFirst, decided: Promise.withResolvers() }
    this.#waiting.push(waiting)
    const leave = () => {
      const at = this.#waiting.indexOf(waiting)
      if (at < 0) return
      this.#waiting.splice(at, 1)
      waiting.decided.reject(new Error('the commit was called off before its turn'))
    }
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    this.#begin()
    return waiting.decided.promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Resolves once no commit is under way or waits for its turn. */
  async idle(): Promise<void> {
    while (this.#rounds !== undefined) await this.#rounds
  }

  /** Returns a signal for an evaluation, which fires with `signal` and when a commit overtakes it. */
  untilOvertaken(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#overtaken.signal])
  }

  /** Runs work beside which nothing is committed. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }

  #begin(): void {
    if (this.#rounds !== undefined || this.#lead === undefined || this.#waiting.length === 0) return
    this.#overtaken.abort(new Error('a commit goes first'))
    this.#rounds = this.#commitAll().finally(() => {
      this.#rounds = undefined
      this.#overtaken = new AbortController()
      this.#begin()
    })
  }

  async #commitAll(): Promise<void> {
    for (let lead = this.#lead; lead !== undefined && this.#waiting.length > 0; lead = this.#lead) {
      await pauseOf(gatherMs, lead.signal)
      if (lead.signal.aborted) return this.follow()
      await this.exclusively(() => this.#round(lead))
    }
  }

  async #round(lead: Lead): Promise<void> {
    const { deps, fence } = lead
    const round = this.#take()
    try {
      await deps.cache.connected(lead.signal)
      if (this.#mayLackWrites) await deps.cache.catchUp(['NodeClaim', 'Node'], lead.signal)
      this.#mayLackWrites = true
      const outcomes = await commitDisruptions(deps, fence, round)
      this.#mayLackWrites = outcomes.some(({ kind }) => kind === 'failed')
      for (const [at, { decided }] of round.entries()) {
        const outcome = outcomes[at] as (typeof outcomes)[number]
        if (outcome.kind === 'failed') decided.reject(outcome.error)
        else decided.resolve(outcome)
      }
    } catch (error) {
      // Whoever holds the fence now commits.
      if (error instanceof FenceLostError && this.#lead === lead) this.follow()
      for (const { decided } of round) decided.reject(error)
    }
  }

  /** Takes the next of those that wait: forced ones and others are validated by different rules. */
  #take(): readonly Waiting[] {
    const inOrder = this.#waiting.toSorted(({ proposal: { order: a } }, { proposal: { order: b } }) =>
      a[0] === b[0] ? a[1] - b[1] : a[0] - b[0],
    )
    const forced = inOrder[0]?.proposal.forced
    const round = inOrder.filter(({ proposal }) => proposal.forced === forced).slice(0, mostAtOnce)
    this.#waiting = this.#waiting.filter((each) => !round.includes(each))
    return round
  }
}
