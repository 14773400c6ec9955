import { condition, log, setHandler } from '@temporalio/workflow'
import type { PlanSummary } from '../activities/disruption/contract.ts'
import {
  type ApplyRequest,
  applyRefusal,
  type ConsolidateRequest,
  consolidateAskedFor,
  consolidateRefusal,
  type PlanRequest,
  planRefusal,
} from '../core/disruption/plan/plan-requests.ts'
import { ageRefusal } from '../core/pauses/operator-requests.ts'
import { askedPass, type Disrupting } from './disruption-pass.ts'
import {
  applyUpdate,
  consolidateNowSignal,
  consolidateUpdate,
  planUpdate,
  type RequestAnswer,
  refuse,
} from './messages.ts'
import type { SignalHandlers } from './pausing.ts'

/** Most requests that wait at once. More of them are not worth a pass each. */
const mostWaiting = 20

type Asked =
  | { readonly kind: 'consolidate'; readonly request: ConsolidateRequest }
  | { readonly kind: 'apply'; readonly request: ApplyRequest }

/** An operator's request. `answer` is set once it is known, for the update that waits for it. */
export type DisruptionRequest = Asked & { readonly isAwaited: boolean; answer?: RequestAnswer }

/**
 * Operators' disruption requests. Handlers only queue them: the loop handles one after the other. A plan changes nothing, so it waits for no other request.
 */
export class DisruptionRequests {
  #waiting: DisruptionRequest[]
  #closed: string | undefined
  #refused: string | undefined

  readonly #of: Disrupting

  /** `carried`: requests that the previous run had not begun. */
  constructor(of: Disrupting, carried: readonly ConsolidateRequest[] = []) {
    this.#of = of
    this.#waiting = carried.map((request) => ({ kind: 'consolidate', request, isAwaited: false }))
  }

  /** Handlers of the signals by name, for signals that arrived before this run's first task. */
  get signals(): SignalHandlers {
    return { [consolidateNowSignal.name]: (payload) => this.#consolidateNow(payload) }
  }

  listen(): void {
    const limits = '"nodePools": [names], "nodes": [names], "budget": nodes of each pool, "by": "..."'
    const at = '"at": the time now as RFC 3339'
    const description = `Evaluate at once, without waiting for consolidateAfter or the validation delay: {${at}, ${limits}}; at is needed. Budgets still hold.`
    setHandler(consolidateNowSignal, (payload) => this.#consolidateNow(payload), { description })
    setHandler(
      consolidateUpdate,
      (payload) => this.#answerTo({ kind: 'consolidate', request: consolidateAskedFor(payload) ?? {} }),
      {
        description: `${description} Answers with what was begun.`,
        validator: (payload) => refuse(consolidateRefusal(payload)),
      },
    )
    setHandler(planUpdate, (payload) => this.#plan(payload ?? {}), {
      description: `Say what would be done now, and do nothing: {${limits}, "reasons": [...], "now": true not to wait for consolidateAfter}, all optional. Answers with the id of the plan.`,
      validator: (payload) => refuse(planRefusal(payload)),
    })
    setHandler(applyUpdate, (request) => this.#answerTo({ kind: 'apply', request }), {
      description: `Carry out a plan, or say what has changed since: {"id": of the plan, ${at}, "partial": true for the commands that still hold, "by": "..."}.`,
      validator: (payload) => refuse(applyRefusal(payload)),
    })
  }

  get areWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Requests that the next run begins with. Updates do not outlive a run. */
  get carried(): readonly ConsolidateRequest[] {
    return this.#waiting.flatMap((each) => (each.kind === 'consolidate' && !each.isAwaited ? [each.request] : []))
  }

  /** Why the last request that was too old was refused, for the details that the Temporal UI shows; else nothing. */
  get refusedText(): string {
    return this.#refused === undefined ? '' : ` Refused: ${this.#refused}`
  }

  /** Returns the next request. One that is too old removes no nodes: a reset of the loop repeats it, or its sender has given up. */
  take(): DisruptionRequest | undefined {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const why = ageRefusal(next.kind, next.request, { undated: 'refused', now: Date.now() })
      if (why === undefined) return next
      log.warn('a request is refused', { why })
      this.#refused = why
      next.answer = { kind: 'refused', message: why }
    }
    return undefined
  }

  /** Drops all waiting requests and answers their callers: nothing is done. */
  refuseAll(message: string): void {
    for (const each of this.#waiting.splice(0)) each.answer = { kind: 'refused', message }
  }

  /** Before a run ends: callers that wait for an answer are asked to send the request to the next run. */
  close(message: string): void {
    this.#closed = message
    for (const each of this.#waiting) if (each.isAwaited) each.answer = { kind: 'refused', message }
    this.#waiting = this.#waiting.filter(({ isAwaited }) => !isAwaited)
  }

  #consolidateNow(payload: unknown): void {
    const request = consolidateAskedFor(payload)
    if (request === undefined) log.warn('consolidateNow is ignored', { why: consolidateRefusal(payload) })
    else if (this.#waiting.length < mostWaiting) this.#waiting.push({ kind: 'consolidate', request, isAwaited: false })
  }

  async #plan(request: PlanRequest): Promise<PlanSummary> {
    const result = await askedPass(this.#of, { kind: 'plan', request })
    if (result.outcome !== 'planned') throw new Error(result.why)
    return result.plan
  }

  async #answerTo(asked: Asked): Promise<RequestAnswer> {
    if (this.#closed !== undefined) return { kind: 'refused', message: this.#closed }
    if (this.#waiting.length >= mostWaiting)
      return { kind: 'refused', message: `${mostWaiting} requests wait already; ask again later` }
    const request: DisruptionRequest = { ...asked, isAwaited: true }
    this.#waiting.push(request)
    await condition(() => request.answer !== undefined)
    return request.answer as RequestAnswer
  }
}
