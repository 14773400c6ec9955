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
import type { Asked, ClaimRef } from '../activities/kubernetes/contract.ts'
import {
  forceFinishRefusal,
  holdAskedFor,
  holdRefusal,
  releaseRefusal,
  retryRefusal,
  textsOf,
  type WantedHold,
} from '../core/node-claim/node-requests.ts'
import { objectOf } from '../core/pauses/operator-requests.ts'
import { forcedEnds, forcing, kubernetes } from './activities.ts'
import {
  forceFinishSignal,
  forceFinishUpdate,
  holdSignal,
  holdUpdate,
  type NodeAnswer,
  releaseSignal,
  releaseUpdate,
  retryNowSignal,
  retryNowUpdate,
} from './messages.ts'
import { refuse, type SignalHandlers } from './pausing.ts'

/** Most messages that wait at once. More are a mistake of the sender. */
const mostWaiting = 20

type Wanted =
  | { readonly kind: 'retryNow' }
  | { readonly kind: 'hold'; readonly hold: WantedHold }
  | { readonly kind: 'release' }
  | { readonly kind: 'forceFinish'; readonly leaveVm: boolean }

type NodeRequest = Wanted & { readonly asked: Asked; answer?: NodeAnswer }

/** How work ended that ran while an operator's messages were handled. */
export type StepOutcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  /** The work was interrupted: the step starts again. */
  | { readonly kind: 'retry'; readonly retried: Asked & { readonly what: string } }
  /** Nothing is left to do: the lifecycle was ended by force. */
  | { readonly kind: 'forced'; readonly reason: string }

/**
 * Operators' messages to one lifecycle. Handlers only queue them. The lifecycle carries them out in order while its step runs, so a step that hangs
 * blocks no message. Without messages the history is the same as without this listener.
 */
export class NodeRequests {
  readonly #claim: ClaimRef
  readonly #waiting: NodeRequest[] = []
  #closed: string | undefined

  constructor(claim: ClaimRef) {
    this.#claim = claim
  }

  /**
   * Handles messages that came before the first task in their order, as pauses do: a release must not overtake the hold before it. `others`: handlers
   * of other signals by name, which may have come before the first task as well.
   */
  listen(others: SignalHandlers): void {
    const signals: SignalHandlers = {
      ...others,
      [retryNowSignal.name]: (payload) => this.#queue({ kind: 'retryNow' }, payload),
      [holdSignal.name]: (payload) => this.#queue({ kind: 'hold', hold: holdAskedFor(payload) }, payload),
      [releaseSignal.name]: (payload) => this.#queue({ kind: 'release' }, payload),
      [forceFinishSignal.name]: (payload) => this.#queue(forceFinishAskedFor(payload), payload),
    }
    setDefaultSignalHandler((name, payload) => signals[name]?.(payload))
    setDefaultSignalHandler(undefined)
    for (const { signal, description } of described)
      setHandler(signal, (payload: unknown) => signals[signal.name]?.(payload), { description })
    const [retry, hold, release, force] = described
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
      await condition(() => isDone || this.#waiting.length > 0)
      if (isDone) return { kind: 'done', result: await running }
      const request = this.#waiting[0] as NodeRequest
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
    return this.#waiting.length > 0
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
    const request: NodeRequest = { ...wanted, asked: { atMs: Date.now(), ...textsOf(payload) } }
    this.#waiting.push(request)
    return request
  }

  async #answer(request: NodeRequest | undefined): Promise<NodeAnswer> {
    if (request === undefined)
      return { kind: 'refused', message: this.#closed ?? `${mostWaiting} messages wait already; send it again later` }
    await condition(() => request.answer !== undefined)
    return request.answer as NodeAnswer
  }
}

function forceFinishAskedFor(payload: unknown): Wanted {
  return { kind: 'forceFinish', leaveVm: objectOf(payload)['leaveVm'] === true }
}

const described = [
  {
    signal: retryNowSignal,
    description:
      'End whatever the lifecycle waits for now, above all a wait between two attempts, and start the step again from the present state: {"reason": "...", "by": "..."}, all optional.',
  },
  {
    signal: holdSignal,
    description:
      'Disruption leaves the node alone until it is released: {"reason": "...", "until": "RFC 3339 time", "expiry": true to hold up expireAfter as well, "by": "..."}, all optional. It stops neither interruption nor a deletion.',
  },
  { signal: releaseSignal, description: 'End the hold: {"by": "..."}, optional.' },
  {
    signal: forceFinishSignal,
    description:
      'End the lifecycle of a NodeClaim whose deletion hangs, without waiting for pods and volumes: {"reason": "...", "leaveVm": true to leave a VM that exists to garbage collection, "by": "..."}; the reason is needed. Refused while the VM exists, and while the NodeClaim is not being deleted.',
  },
] as const

/** Cancels work and waits until it has ended, with any outcome. */
async function cutShort(scope: CancellationScope, running: Promise<unknown>): Promise<void> {
  scope.cancel()
  await running.catch((error: unknown) => {
    if (!isCancellation(error)) log.warn('what was cut short has failed', { why: String(error) })
  })
}
