import { rootCause } from '@temporalio/common'
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  log,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow'
import type { Asked, CancellationOutcome, ClaimRef } from '../activities/kubernetes/contract.ts'
import {
  forceFinishRefusal,
  holdAskedFor,
  holdRefusal,
  releaseRefusal,
  retryRefusal,
  textsOf,
  type WantedHold,
} from '../core/node-claim/node-requests.ts'
import { ageRefusal, objectOf } from '../core/pauses/operator-requests.ts'
import { forcedEnds, forcing, kubernetes } from './activities.ts'
import {
  forceFinishSignal,
  forceFinishUpdate,
  holdSignal,
  holdUpdate,
  type NodeAnswer,
  nodeSignals,
  refuse,
  releaseSignal,
  releaseUpdate,
  retryNowSignal,
  retryNowUpdate,
} from './messages.ts'
import type { SignalHandlers } from './pausing.ts'

/** Most messages that wait at once. More are a mistake of the sender. */
const mostWaiting = 20

type Wanted =
  | { readonly kind: 'retryNow' }
  | { readonly kind: 'hold'; readonly hold: WantedHold }
  | { readonly kind: 'release' }
  | { readonly kind: 'forceFinish'; readonly leaveVm: boolean }

type NodeRequest = Wanted & { readonly payload: unknown; readonly asked: Asked; answer?: NodeAnswer }

interface Cancellation {
  readonly asked: Asked
  outcome?: CancellationOutcome
}

/** How work ended that ran while an operator's messages were handled. */
export type StepOutcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  /** The work was interrupted: the step starts again. */
  | { readonly kind: 'retry'; readonly retried: Asked & { readonly what: string } }
  /** Nothing is left to do: the lifecycle was ended by force. */
  | { readonly kind: 'forced'; readonly reason: string }
  /** The run was cancelled, and the work was interrupted. `refused`: why the NodeClaim stays. */
  | { readonly kind: 'cancelled'; readonly refused?: string }

/**
 * Operators' messages to one lifecycle. Handlers only queue them. The lifecycle carries them out in order while its step runs, so a step that hangs
 * blocks no message. Without messages the history is the same as without this listener.
 */
export class NodeRequests {
  readonly #claim: ClaimRef
  readonly #waiting: NodeRequest[] = []
  #closed: string | undefined
  #cancellation: Cancellation | undefined
  readonly #refused: (why: string) => void

  /** `refused`: called with requests that are too old, whose sender may hear nothing. */
  constructor(claim: ClaimRef, refused: (why: string) => void) {
    this.#claim = claim
    this.#refused = refused
  }

  /**
   * Handles messages that came before the first task in their order, as pauses do: a release must not overtake the hold before it. `others`: handlers
   * of other signals by name, which may have come before the first task as well. `scope`: the workflow's own, whose cancellation is a request, too.
   */
  listen(scope: CancellationScope, others: SignalHandlers): void {
    scope.cancelRequested.catch(() => {
      this.#cancellation = { asked: { atMs: Date.now() } }
    })
    const signals: SignalHandlers = {
      ...others,
      [retryNowSignal.name]: (payload) => this.#queue({ kind: 'retryNow' }, payload),
      [holdSignal.name]: (payload) => this.#queue({ kind: 'hold', hold: holdAskedFor(payload) }, payload),
      [releaseSignal.name]: (payload) => this.#queue({ kind: 'release' }, payload),
      [forceFinishSignal.name]: (payload) => this.#queue(forceFinishAskedFor(payload), payload),
    }
    setDefaultSignalHandler((name, payload) => signals[name]?.(payload))
    setDefaultSignalHandler(undefined)
    for (const { signal, description } of nodeSignals)
      setHandler(signal, (payload: unknown) => signals[signal.name]?.(payload), { description })
    const [retry, hold, release, force] = nodeSignals
    setHandler(retryNowUpdate, (payload) => this.#answer(this.#queue({ kind: 'retryNow' }, payload)), {
      description: `${retry.description} Answers with what it was.`,
      validator: (payload) => refuse(retryRefusal(payload)),
    })
    setHandler(
      holdUpdate,
      (payload) => this.#answer(this.#queue({ kind: 'hold', hold: holdAskedFor(payload) }, payload)),
      {
        description: `${hold.description} Answers when it is in force.`,
        validator: (payload) => refuse(holdRefusal(payload, Date.now())),
      },
    )
    setHandler(releaseUpdate, (payload) => this.#answer(this.#queue({ kind: 'release' }, payload)), {
      description: `${release.description} Answers when it is done.`,
      validator: (payload) => refuse(releaseRefusal(payload)),
    })
    setHandler(forceFinishUpdate, (payload) => this.#answer(this.#queue(forceFinishAskedFor(payload), payload)), {
      description: `${force.description} Answers with what came of it, and with the id of a VM that is left.`,
      validator: (payload) => refuse(forceFinishRefusal(payload)),
    })
  }

  /** Runs work and carries out messages meanwhile. `doing`: describes the work in words, at any moment. */
  async beside<Result>(work: () => Promise<Result>, doing: () => string): Promise<StepOutcome<Result>> {
    const scope = new CancellationScope()
    let isDone = false
    const running = scope.run(work).finally(() => {
      isDone = true
    })
    running.catch(() => {})
    for (;;) {
      await condition(() => isDone || this.areWaiting)
      if (isDone) return { kind: 'done', result: await running }
      const request = this.#waiting[0]
      if (request === undefined) {
        const outcome = await this.#takeCancellation()
        if (outcome === undefined || outcome.kind === 'late') continue
        await cutShort(scope, running)
        return { kind: 'cancelled', ...(outcome.kind === 'refused' ? { refused: outcome.message } : {}) }
      }
      if (this.#refuseOld(request)) continue
      if (request.kind !== 'retryNow') {
        request.answer = await this.#carryOut(request)
        this.#waiting.shift()
        if (request.kind !== 'forceFinish' || request.answer.kind !== 'done') continue
        await cutShort(scope, running)
        return { kind: 'forced', reason: request.asked.reason ?? 'ended by force' }
      }
      const what = doing()
      request.answer = { kind: 'done', message: `NodeClaim ${this.#claim.name}: ${what} is started again` }
      this.#waiting.shift()
      await cutShort(scope, running)
      return { kind: 'retry', retried: { ...request.asked, what } }
    }
  }

  /** Before a run ends: answers waiting and new messages with `why`. */
  async close(why: string): Promise<void> {
    this.#closed = why
    for (const request of this.#waiting.splice(0)) request.answer = { kind: 'refused', message: why }
    await condition(allHandlersFinished)
  }

  get areWaiting(): boolean {
    return this.#waiting.length > 0 || this.#cancellation !== undefined
  }

  /** A cancellation ends the work, so other requests go first. Undefined: one came meanwhile. */
  async #takeCancellation(): Promise<CancellationOutcome | undefined> {
    const cancellation = this.#cancellation as Cancellation
    const input = { claim: this.#claim, asked: cancellation.asked }
    const summary = 'cancelled in Temporal'
    cancellation.outcome ??= await kubernetes().takeCancellation.executeWithOptions({ summary }, [input])
    if (this.#waiting.length > 0) return undefined
    this.#cancellation = undefined
    return cancellation.outcome
  }

  /** Refuses a request whose time is over. Returns whether it did. */
  #refuseOld(request: NodeRequest): boolean {
    const undated = request.kind === 'forceFinish' ? 'refused' : 'accepted'
    const why = ageRefusal(request.kind, request.payload, { undated, now: Date.now() })
    if (why === undefined) return false
    this.#refused(why)
    log.warn('a request is refused', { why })
    request.answer = { kind: 'refused', message: why }
    this.#waiting.shift()
    return true
  }

  async #carryOut(request: Exclude<NodeRequest, { kind: 'retryNow' }>): Promise<NodeAnswer> {
    try {
      return request.kind === 'forceFinish' ? await this.#force(request) : await this.#hold(request)
    } catch (error) {
      if (isCancellation(error)) throw error
      return { kind: 'refused', message: rootCause(error) ?? String(error) }
    }
  }

  async #hold(request: Extract<NodeRequest, { kind: 'hold' | 'release' }>): Promise<NodeAnswer> {
    const { kind, asked } = request
    const outcome = await kubernetes().writeHold.executeWithOptions({ summary: kind }, [
      { claim: this.#claim, asked, ...(request.kind === 'hold' ? { hold: request.hold } : {}) },
    ])
    return { kind: outcome.kind === 'written' ? 'done' : 'refused', message: outcome.message }
  }

  async #force({ asked, leaveVm }: Extract<NodeRequest, { kind: 'forceFinish' }>): Promise<NodeAnswer> {
    const outcome = await forcing().forceFinish.executeWithOptions({ summary: 'end by force' }, [
      { claim: this.#claim, asked, leaveVm },
    ])
    if (outcome.kind === 'refused') return outcome
    const { vm, left = 'its VM is gone' } = outcome
    if (outcome.isVmGone === true)
      await forcedEnds().finalize.executeWithOptions({ summary: 'delete lost pods, remove finalizers' }, [
        { claim: this.#claim, isVmGone: true },
      ])
    return {
      kind: 'done',
      message: `the lifecycle of NodeClaim ${this.#claim.name} is ended; ${left}`,
      ...(vm === undefined ? {} : { vm }),
    }
  }

  #queue(wanted: Wanted, payload: unknown): NodeRequest | undefined {
    if (this.#closed !== undefined || this.#waiting.length >= mostWaiting) return undefined
    const request: NodeRequest = { ...wanted, payload, asked: { atMs: Date.now(), ...textsOf(payload) } }
    this.#waiting.push(request)
    return request
  }

  async #answer(request: NodeRequest | undefined): Promise<NodeAnswer> {
    if (request === undefined)
      return { kind: 'refused', message: this.#closed ?? `${mostWaiting} messages wait already; send it again later` }
    // A run goes on after its cancellation, and so does what it answers.
    await CancellationScope.nonCancellable(() => condition(() => request.answer !== undefined))
    return request.answer as NodeAnswer
  }
}

function forceFinishAskedFor(payload: unknown): Wanted {
  return { kind: 'forceFinish', leaveVm: objectOf(payload)['leaveVm'] === true }
}

/** Cancels work and waits until it has ended, with any outcome. */
async function cutShort(scope: CancellationScope, running: Promise<unknown>): Promise<void> {
  scope.cancel()
  await running.catch((error: unknown) => {
    if (!isCancellation(error)) log.warn('what was cut short has failed', { why: String(error) })
  })
}
