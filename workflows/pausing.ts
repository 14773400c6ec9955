import { condition, setDefaultSignalHandler, setHandler } from '@temporalio/workflow'
import type { LoopName, Pause } from '../activities/kubernetes/contract.ts'
import { kubernetes } from './activities.ts'
import { type PauseRequest, pauseSignal, resumeSignal } from './messages.ts'

type Command = { readonly kind: 'pause'; readonly pause: Pause } | { readonly kind: 'resume' }

/**
 * The pause of one loop. Handlers only queue what the operator asked for; the loop's first act writes it to the
 * ConfigMap that planners re-read before they write, so a pause outlives this run, its worker and its history.
 */
export class LoopPause {
  readonly #loop: LoopName
  #queue: Command[] = []
  #current: Pause | undefined

  constructor(loop: LoopName, current?: Pause) {
    this.#loop = loop
    this.#current = current
  }

  /**
   * Begins to take an operator's commands. What came before this run's first task waits in one queue, from which each named handler would
   * take its own: a pause after a resume would be carried out before it. So that queue is emptied first, in its order.
   */
  listen(
    descriptions: { readonly pause: string; readonly resume: string },
    others: Readonly<Record<string, () => void>> = {},
  ): void {
    setDefaultSignalHandler((name, request) => {
      if (name === pauseSignal.name) this.pause(request as PauseRequest | null | undefined)
      else if (name === resumeSignal.name) this.resume()
      else others[name]?.()
    })
    setDefaultSignalHandler(undefined)
    setHandler(pauseSignal, (request) => this.pause(request), { description: descriptions.pause })
    setHandler(resumeSignal, () => this.resume(), { description: descriptions.resume })
  }

  get current(): Pause | undefined {
    return this.#current
  }

  /** True while a command waits to be written: the loop must interrupt what it waits for. */
  get hasCommands(): boolean {
    return this.#queue.length > 0
  }

  /** Takes whatever an operator's payload holds: a handler that throws would stop the loop. */
  pause(request: PauseRequest | null | undefined): void {
    const untilMs = typeof request?.until === 'string' ? Date.parse(request.until) : Number.NaN
    const reason = typeof request?.reason === 'string' ? request.reason : 'paused by an operator'
    const ignored = request?.until !== undefined && Number.isNaN(untilMs)
    this.#queue.push({
      kind: 'pause',
      pause: {
        reason: ignored ? `${reason}; until ${JSON.stringify(request?.until)} is not an RFC 3339 time: no end` : reason,
        sinceMs: Date.now(),
        ...(Number.isNaN(untilMs) ? {} : { untilMs }),
      },
    })
  }

  resume(): void {
    this.#queue.push({ kind: 'resume' })
  }

  /** Writes queued commands in order. A pause whose time is over is cleared the same way. */
  async apply(): Promise<void> {
    if (this.#queue.length === 0 && this.#isOver()) this.#queue.push({ kind: 'resume' })
    while (this.#queue.length > 0) {
      const command = this.#queue[0] as Command
      const pause = command.kind === 'pause' ? command.pause : undefined
      await kubernetes().writePause.executeWithOptions({ summary: command.kind }, [
        { loop: this.#loop, ...(pause === undefined ? {} : { pause }) },
      ])
      this.#current = pause
      this.#queue.shift()
    }
  }

  /** A new run without carried state takes over the pause that stands in the cluster. */
  async recover(): Promise<void> {
    const found = await kubernetes().readPause.executeWithOptions({ summary: 'pause in force' }, [{ loop: this.#loop }])
    this.#current = found.pause
  }

  /** Awaits work that commands must not wait for: they are written while it runs, so that it sees the pause before its next write. */
  async applyWhile<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false
    const finished = work.finally(() => {
      isDone = true
    })
    finished.catch(() => {})
    for (;;) {
      await condition(() => isDone || this.hasCommands)
      if (isDone) return finished
      await this.apply()
    }
  }

  /** Waits, without an activity or an event, until a command arrives or the pause ends by itself. */
  async untilChanged(alsoWhen: () => boolean): Promise<void> {
    const changed = () => this.hasCommands || alsoWhen()
    const untilMs = this.#current?.untilMs
    if (untilMs === undefined) await condition(changed)
    else await condition(changed, Math.max(untilMs - Date.now(), 1))
  }

  #isOver(): boolean {
    return this.#current?.untilMs !== undefined && Date.now() >= this.#current.untilMs
  }
}
