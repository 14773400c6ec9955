import { rootCause, WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  continueAsNew,
  isCancellation,
  ParentClosePolicy,
  setCurrentDetails,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow'
import type {
  CommitOutcome,
  DisruptionInput,
  DisruptionOutcome,
  DisruptionProposal,
} from '../activities/disruption/contract.ts'
import { type DisruptionMethod, methodFacts } from '../core/disruption/command.ts'
import { type ApplyRequest, type ConsolidateRequest, pauseOfRequest } from '../core/disruption/plan/plan-requests.ts'
import { commandFacts } from '../core/history/command-facts.ts'
import { factsKey } from '../core/history/life.ts'
import { oneLine } from '../core/history/record.ts'
import { namesText } from '../core/history/texts.ts'
import { type Pause, pauseText } from '../core/pauses/pauses.ts'
import { disruptionCommandId } from '../core/task-queues.ts'
import { commits, disruptionPolls, plans } from './activities.ts'
import { disruptionCommand } from './disruption-command.ts'
import { type DisruptionRequest, DisruptionRequests } from './disruption-requests.ts'
import { loopStatusQuery, type RequestAnswer, type StartedCommand } from './messages.ts'
import { LoopPause } from './pausing.ts'
import { searchAttributes } from './search-attributes.ts'
import { untilCommand } from './until-command.ts'

/** Time between a proposal and its commit, so that pods about to land on a candidate save it (reference/karpenter-core.md 4.9). */
const validationDelayMs = 15_000
/** Most proposals that one commit begins. */
const mostAtOnce = 10

/** A proposal that waits to be committed. */
interface Validating {
  readonly proposal: DisruptionProposal
  /** Epoch ms. */
  readonly dueMs: number
}

export interface DisruptionLoopInput {
  readonly cluster: string
  /** The namespace has no search attributes for commands. */
  readonly withoutAttributes?: true
  readonly state?: {
    /** Commands that were started. */
    readonly rounds: number
    /** Requested forced evaluations that have not begun. */
    readonly requests?: readonly ConsolidateRequest[]
    readonly validating?: readonly Validating[]
  }
}

/** Runs for ever: evaluates, waits out the validation delays, commits, starts the commands. The loop is the only committer. */
export async function disruptionLoop(input: DisruptionLoopInput): Promise<void> {
  await new DisruptionLoop(input).run()
}

class DisruptionLoop {
  readonly #input: DisruptionLoopInput
  readonly #pause: LoopPause
  #rounds: number
  readonly #requests: DisruptionRequests
  #validating: Validating[]
  /** Methods of proposals that were dropped, for the planner to count. */
  #abandoned: DisruptionMethod[] = []
  #doing = 'starting'
  #sinceMs = Date.now()

  constructor(input: DisruptionLoopInput) {
    const { state } = input
    this.#input = input
    this.#pause = new LoopPause('disruption')
    this.#rounds = state?.rounds ?? 0
    this.#requests = new DisruptionRequests(state?.requests)
    this.#validating = [...(state?.validating ?? [])]
    this.#pause.listen(
      {
        pause:
          'Disrupt nothing, or nothing of a scope, until resumed: {"reason": "...", "until": "RFC 3339 time", "by": "...", "scope": {"nodePool" | "node" | "reason": "..."}}, all optional.',
        resume:
          'Go on disrupting: {"at": the time now as RFC 3339, "scope": as it was paused, "all": true for every scope, "by": "..."}; at is needed.',
      },
      this.#requests.signals,
    )
    this.#requests.listen()
    setHandler(loopStatusQuery, () => ({
      doing: this.#doing,
      sinceMs: this.#sinceMs,
      rounds: this.#rounds,
      ...this.#pause.state,
      validating: this.#validating.map(({ proposal: { id, candidates }, dueMs }) => ({
        id,
        nodes: candidates.map(({ nodeName }) => nodeName),
        dueMs,
      })),
    }))
  }

  run(): Promise<void> {
    return this.#pause.during(() => this.#run())
  }

  async #run(): Promise<void> {
    await this.#pause.recover()
    while (!workflowInfo().continueAsNewSuggested) await this.#step()
    this.#requests.close('the loop begins a new run at this very moment; ask again')
    await this.#pause.finish()
    await continueAsNew<typeof disruptionLoop>({
      ...this.#input,
      state: {
        rounds: this.#rounds,
        ...(this.#requests.carried.length === 0 ? {} : { requests: this.#requests.carried }),
        ...(this.#validating.length === 0 ? {} : { validating: this.#validating }),
      },
    })
  }

  async #step(): Promise<void> {
    await this.#pause.apply()
    if (this.#pause.current !== undefined) return this.#rest(this.#pause.current)
    const request = this.#requests.take()
    if (request !== undefined) {
      request.answer = await this.#answerTo(request)
      return
    }
    const due = this.#validating.filter(({ dueMs }) => dueMs <= Date.now()).slice(0, mostAtOnce)
    if (due.length > 0) {
      this.#validating = this.#validating.filter((each) => !due.includes(each))
      await this.#commit(due.map(({ proposal }) => proposal))
      return
    }
    const outcome = await this.#evaluate()
    if (outcome?.kind === 'paused') await this.#pause.recover()
    if (outcome?.kind === 'proposed') await this.#take(outcome.proposals)
  }

  /** Waiting proposals are dropped, not kept for the resume: a pause forbids them, and the cluster has changed when it ends. */
  async #rest(pause: Pause): Promise<void> {
    this.#requests.refuseAll(pauseText('disruption', pause))
    this.#drop(() => true)
    this.#enter(`paused (${pause.reason})`)
    await this.#pause.untilChanged(() => this.#requests.areWaiting || workflowInfo().continueAsNewSuggested)
  }

  /** The long poll ends when an operator sends a request, and when a proposal is due. */
  async #evaluate(): Promise<DisruptionOutcome | undefined> {
    const waiting = this.#validating
    this.#enter(waiting.length === 0 ? 'evaluating' : `evaluating, and ${waiting.map(textOf).join(', ')} wait`)
    const abandoned = this.#abandoned
    this.#abandoned = []
    const input: DisruptionInput = {
      once: false,
      forced: false,
      ...(abandoned.length === 0 ? {} : { abandoned }),
      ...(waiting.length === 0 ? {} : { validating: validatingOf(waiting) }),
    }
    return untilCommand(
      this.#pause,
      () => disruptionPolls().nextDisruption.executeWithOptions({ summary: 'next command' }, [input]),
      { alsoWhen: () => this.#requests.areWaiting, ...untilDue(waiting) },
    )
  }

  /** No operator's request ends the loop: a failure is returned as the answer. */
  async #answerTo({ kind, request }: DisruptionRequest): Promise<RequestAnswer> {
    try {
      return kind === 'apply' ? await this.#apply(request) : await this.#consolidate(request)
    } catch (error) {
      if (isCancellation(error)) throw error
      return { kind: 'refused', message: rootCause(error) ?? String(error) }
    }
  }

  async #consolidate(request: ConsolidateRequest): Promise<RequestAnswer> {
    const partial = this.#pause.state.partialPauses ?? []
    const inForce = partial.filter(({ untilMs }) => untilMs === undefined || untilMs > Date.now())
    const paused = pauseOfRequest(request, inForce)
    if (paused !== undefined) return { kind: 'refused', message: pauseText('disruption', paused) }
    this.#enter('evaluating, as an operator asks')
    const { at: _, ...scope } = request
    const hasScope = Object.keys(scope).length > 0
    const outcome = await this.#pause.applyWhile(
      disruptionPolls().nextDisruption.executeWithOptions({ summary: 'consolidate now' }, [
        { once: true, forced: true, ...(hasScope ? { request: scope } : {}) },
      ]),
    )
    if (outcome.kind === 'paused') {
      await this.#pause.recover()
      return { kind: 'refused', message: 'disruption is paused; joiner status says by whom' }
    }
    return this.#begin(outcome.kind === 'proposed' ? outcome.proposals : [], {
      changes: [],
      pauses: inForce.map((pause) => pauseText('disruption', pause)),
    })
  }

  async #apply(request: ApplyRequest): Promise<RequestAnswer> {
    this.#enter(`comparing plan ${request.id} with the cluster`)
    const check = await plans().checkPlan.executeWithOptions({ summary: `plan ${request.id}` }, [request])
    return check.kind === 'holds' ? this.#begin(check.proposals, { changes: check.changes, pauses: [] }) : check
  }

  /** Commits what an operator requested, unless a pause is in force. */
  async #begin(
    proposals: readonly DisruptionProposal[],
    reported: Pick<DoneAnswer, 'changes' | 'pauses'>,
  ): Promise<RequestAnswer> {
    const started: StartedCommand[] = []
    const rejected: DoneAnswer['rejected'][number][] = []
    for (const some of inParts(proposals)) {
      await this.#pause.apply()
      const paused = this.#pause.current
      const outcomes =
        paused === undefined
          ? await this.#commit(some)
          : some.map((): CommitOutcome => ({ kind: 'rejected', message: pauseText('disruption', paused) }))
      for (const [at, { id, reason, candidates }] of some.entries()) {
        const outcome = outcomes[at] as CommitOutcome
        // Operators' requests contain no reboots, which are handed over.
        if (outcome.kind === 'handedOver') continue
        if (outcome.kind === 'rejected')
          rejected.push({ id, nodes: candidates.map(({ nodeName }) => nodeName), message: outcome.message })
        else
          started.push({
            id,
            reason,
            nodes: outcome.candidates.map(({ nodeName }) => nodeName),
            replacements: outcome.replacements.map(({ name }) => name),
            savings: outcome.savings,
          })
      }
    }
    return { kind: 'done', started, rejected, ...reported }
  }

  /** Commands of some methods are committed at once. Others wait to be validated again, in case pods are about to arrive. */
  async #take(proposals: readonly DisruptionProposal[]): Promise<void> {
    const dueMs = Date.now() + validationDelayMs
    const isUrgent = ({ method }: DisruptionProposal) => methodFacts[method].validation === 'immediate'
    for (const proposal of proposals) if (!isUrgent(proposal)) this.#validating.push({ proposal, dueMs })
    for (const some of inParts(proposals.filter(isUrgent))) {
      await this.#pause.apply()
      if (this.#pause.current !== undefined) return
      await this.#commit(some)
    }
  }

  async #commit(proposals: readonly DisruptionProposal[]): Promise<readonly CommitOutcome[]> {
    const summary = proposals.map((proposal) => textOf({ proposal })).join(', ')
    this.#enter(`committing ${summary}`)
    const outcomes = await this.#pause.applyWhile(
      commits().commitDisruptions.executeWithOptions({ summary: summary.slice(0, 200) }, [{ proposals }]),
    )
    // Nodes can be reserved twice: by waiting proposals, and by an operator's request in the meantime.
    const names = new Set(proposals.flatMap(({ candidates }) => candidates.map(({ name }) => name)))
    this.#drop((each) => each.proposal.candidates.some(({ name }) => names.has(name)))
    await Promise.all(proposals.map((proposal, at) => this.#start(proposal, outcomes[at] as CommitOutcome)))
    return outcomes
  }

  async #start(proposal: DisruptionProposal, outcome: CommitOutcome): Promise<void> {
    if (outcome.kind !== 'committed') return
    const { id, method, reason, decision, repair } = proposal
    const { candidates, replacements, readyByMs, committedMs, savings } = outcome
    const work = { method, reason, decision, candidates, replacements, savings }
    const { cluster, withoutAttributes = false } = this.#input
    try {
      await startChild(disruptionCommand, {
        workflowId: disruptionCommandId(cluster, id),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        args: [{ cluster, id, ...work, readyByMs, committedMs, ...(repair && { repair }) }],
        memo: {
          [factsKey]: commandFacts({ id, ...work }, Date.now()),
        },
        staticSummary: oneLine(`${reason}: ${decision} ${namesText(candidates.map(({ name }) => name))}`),
        ...(withoutAttributes ? {} : { typedSearchAttributes: attributesOf(candidates) }),
      })
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    }
    this.#rounds += 1
  }

  #drop(isDropped: (waiting: Validating) => boolean): void {
    this.#abandoned.push(...this.#validating.filter(isDropped).map(({ proposal }) => proposal.method))
    this.#validating = this.#validating.filter((each) => !isDropped(each))
  }

  #enter(what: string): void {
    if (this.#doing !== what) this.#sinceMs = Date.now()
    this.#doing = what
    setCurrentDetails(
      `${what} since ${new Date(this.#sinceMs).toISOString()}; ${this.#rounds} commands started.${this.#pause.refusedText}${this.#requests.refusedText}`,
    )
  }
}

function inParts(proposals: readonly DisruptionProposal[]): readonly (readonly DisruptionProposal[])[] {
  return Array.from({ length: Math.ceil(proposals.length / mostAtOnce) }, (_, at) =>
    proposals.slice(at * mostAtOnce, (at + 1) * mostAtOnce),
  )
}

type DoneAnswer = Extract<RequestAnswer, { readonly kind: 'done' }>

function validatingOf(waiting: readonly Validating[]): NonNullable<DisruptionInput['validating']> {
  return {
    nodeClaims: waiting.flatMap(({ proposal }) => proposal.candidates.map(({ name }) => name)),
    methods: [...new Set(waiting.map(({ proposal }) => proposal.method))],
  }
}

function untilDue(waiting: readonly Validating[]): { readonly untilMs?: number; readonly timer?: string } {
  if (waiting.length === 0) return {}
  const timer = oneLine(`${waiting.map(textOf).join(', ')}: until validated again`)
  return { untilMs: Math.min(...waiting.map(({ dueMs }) => dueMs)), timer }
}

function textOf({ proposal: { id, candidates } }: Pick<Validating, 'proposal'>): string {
  return `${id} (${candidates.length} nodes)`
}

/** A single pool and a single node are recorded by name; several are not. */
function attributesOf(candidates: DisruptionProposal['candidates']) {
  const [first, ...rest] = candidates
  const isOnePool = first !== undefined && rest.every(({ nodePool }) => nodePool === first.nodePool)
  return [
    ...(isOnePool ? [{ key: searchAttributes.nodePool, value: first.nodePool }] : []),
    ...(first !== undefined && rest.length === 0 ? [{ key: searchAttributes.nodeName, value: first.nodeName }] : []),
  ]
}
