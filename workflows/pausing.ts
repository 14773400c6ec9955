import { condition } from '@temporalio/workflow'
import type { LoopName, Pause } from '../activities/kubernetes/contract.ts'
import { kubernetes } from './activities.ts'
import type { PauseRequest } from './messages.ts'

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

  get current(): Pause | undefined {
    return this.#current
  }

  /** True while a command waits to be written: the loop must interrupt what it waits for. */
  get hasCommands(): boolean {
    return this.#queue.length > 0
  }

  pause(request: PauseRequest = {}): void {
    const untilMs = request.until === undefined ? Number.NaN : Date.parse(request.until)
    this.#queue.push({
      kind: 'pause',
      pause: {
        reason: request.reason ?? 'paused by an operator',
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
