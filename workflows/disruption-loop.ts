import { rootCause } from '@temporalio/common'
import {
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import { type ConsolidateRequest, pauseOfRequest } from '../core/disruption/plan/plan-requests.ts'
import { pauseText } from '../core/pauses/pauses.ts'
import { askedPass, type Disrupting, type PassRequest } from './disruption-pass.ts'
import { type DisruptionRequest, DisruptionRequests } from './disruption-requests.ts'
import { loopStatusQuery, type RequestAnswer } from './messages.ts'
import { LoopPause } from './pausing.ts'

export interface DisruptionLoopInput extends Disrupting {
  /** Requested forced passes that the run before has not begun. */
  readonly requests?: readonly ConsolidateRequest[]
}

/**
 * Takes an operator's pauses and requests of disruption, and sleeps. It does not evaluate: the planner does, and starts a workflow for each command; the
 * pass that an operator asks for is a workflow of its own.
 */
export async function disruptionLoop(input: DisruptionLoopInput): Promise<void> {
  await new DisruptionLoop(input).run()
}

class DisruptionLoop {
  readonly #input: DisruptionLoopInput
  readonly #pause = new LoopPause('disruption')
  readonly #requests: DisruptionRequests
  #doing = 'starting'
  #sinceMs = Date.now()
  /** What the last pass came to that somebody asked for. */
  #last = ''

  constructor(input: DisruptionLoopInput) {
    this.#input = input
    this.#requests = new DisruptionRequests(input, input.requests)
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
    setHandler(loopStatusQuery, () => ({ doing: this.#doing, sinceMs: this.#sinceMs, ...this.#pause.state }))
  }

  run(): Promise<void> {
    return this.#pause.during(() => this.#run())
  }

  async #run(): Promise<void> {
    await this.#pause.recover()
    while (!workflowInfo().continueAsNewSuggested) await this.#step()
    this.#requests.close('the loop begins a new run at this very moment; ask again')
    await this.#pause.finish()
    const { requests: _, ...input } = this.#input
    const { carried } = this.#requests
    await continueAsNew<typeof disruptionLoop>({ ...input, ...(carried.length === 0 ? {} : { requests: carried }) })
  }

  async #step(): Promise<void> {
    await this.#pause.apply()
    const isWoken = () => this.#requests.areWaiting || workflowInfo().continueAsNewSuggested
    const { current } = this.#pause
    if (current !== undefined) {
      this.#requests.refuseAll(pauseText('disruption', current))
      this.#enter(`paused (${current.reason})`)
      return this.#pause.untilChanged(isWoken)
    }
    const request = this.#requests.take()
    if (request !== undefined) request.answer = await this.#answerTo(request)
    else {
      this.#enter('disrupting')
      await condition(() => this.#pause.hasCommands || isWoken())
    }
  }

  /** No operator's request ends the loop: a failure is returned as the answer. */
  async #answerTo(request: DisruptionRequest): Promise<RequestAnswer> {
    const asked = this.#passOf(request)
    if ('refused' in asked) return { kind: 'refused', message: asked.refused }
    this.#enter(asked.kind === 'apply' ? `applying plan ${asked.request.id}` : 'evaluating, as an operator asks')
    try {
      const result = await this.#pause.applyWhile(askedPass(this.#input, asked))
      if (result.outcome === 'planned') throw new Error('a plan is no answer to this request')
      this.#last = ` The pass asked for at ${new Date(this.#sinceMs).toISOString()}: ${result.outcome}: ${result.why}.`
      return result.answer
    } catch (error) {
      // The pass may have been cancelled, and not the loop.
      if (CancellationScope.current().consideredCancelled) throw error
      const message = isCancellation(error) ? 'the pass was cancelled' : (rootCause(error) ?? String(error))
      return { kind: 'refused', message }
    }
  }

  /** What a pass is asked, or which pause forbids it. */
  #passOf(asked: DisruptionRequest): Exclude<PassRequest, { readonly kind: 'plan' }> | { readonly refused: string } {
    if (asked.kind === 'apply') return { kind: 'apply', request: asked.request }
    const { request } = asked
    const partial = this.#pause.state.partialPauses ?? []
    const inForce = partial.filter(({ untilMs }) => untilMs === undefined || untilMs > Date.now())
    const paused = pauseOfRequest(request, inForce)
    if (paused !== undefined) return { refused: pauseText('disruption', paused) }
    return { kind: 'consolidate', request, pauses: inForce.map((pause) => pauseText('disruption', pause)) }
  }

  #enter(what: string): void {
    if (this.#doing !== what) this.#sinceMs = Date.now()
    this.#doing = what
    setCurrentDetails(
      `${what} since ${new Date(this.#sinceMs).toISOString()}.${this.#last}${this.#pause.refusedText}${this.#requests.refusedText}`,
    )
  }
}
