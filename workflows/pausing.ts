import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  log,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow'
import type { PauseChange, PausesWritten } from '../activities/kubernetes/contract.ts'
import { oneLine } from '../core/history/record.ts'
import { ageRefusal } from '../core/pauses/operator-requests.ts'
import { liftAskedFor, pauseAskedFor, pauseRefusal, resumeRefusal } from '../core/pauses/pause-requests.ts'
import {
  type LoopName,
  type Pause,
  pauseKey,
  pauseText,
  pauseTitle,
  scopeOf,
  scopeText,
  wholeLoop,
} from '../core/pauses/pauses.ts'
import { kubernetes } from './activities.ts'
import { type PauseAnswer, pauseSignal, pauseUpdate, refuse, resumeSignal, resumeUpdate } from './messages.ts'

interface Command {
  readonly request: unknown
  /** The pauses of the same scope that this one replaces, as this run knows them. Set when its turn comes. */
  replaced?: readonly Pause[]
  readonly change: Omit<PauseChange, 'loop'>
  /** Present once it is carried out. */
  written?: PausesWritten
  /** Why it is not. */
  refused?: string
}

/** Payloads that handlers of other signals accept: any. */
export type SignalHandlers = Readonly<Record<string, (request: unknown) => void>>

/**
 * The pauses of one loop. Handlers only queue commands; the loop's first act writes them to the ConfigMap. Planners read it again before they write,
 * so a pause outlives this run, its worker and its history. Only a pause of the whole loop is `current` and stops it; planners apply those of a part.
 */
export class LoopPause {
  readonly #loop: LoopName
  #queue: Command[] = []
  #current: Pause | undefined
  #partial: readonly Pause[] = []
  #refused: string | undefined

  constructor(loop: LoopName) {
    this.#loop = loop
  }

  /**
   * Begins to accept an operator's commands. Commands that came before this run's first task wait in one queue, from which each named handler would
   * take its own. A pause after a resume would be carried out before it, so that queue is emptied first, in order.
   */
  listen(descriptions: { readonly pause: string; readonly resume: string }, others: SignalHandlers = {}): void {
    setDefaultSignalHandler((name, request) => {
      if (name === pauseSignal.name) this.pause(request)
      else if (name === resumeSignal.name) this.resume(request)
      else others[name]?.(request)
    })
    setDefaultSignalHandler(undefined)
    setHandler(pauseSignal, (request) => void this.pause(request), { description: descriptions.pause })
    setHandler(resumeSignal, (request) => void this.resume(request), { description: descriptions.resume })
    setHandler(pauseUpdate, (request) => this.#answer(this.pause(request)), {
      description: `${descriptions.pause} Answers when it is in force.`,
      validator: (request) => refuse(pauseRefusal(request, this.#loop, Date.now())),
    })
    setHandler(resumeUpdate, (request) => this.#answer(this.resume(request)), {
      description: `${descriptions.resume} Answers when it is done.`,
      validator: (request) => refuse(resumeRefusal(request, this.#loop)),
    })
  }

  get current(): Pause | undefined {
    return this.#current
  }

  /** Why the last command that was too old was refused, for the details that the Temporal UI shows; else nothing. */
  get refusedText(): string {
    return this.#refused === undefined ? '' : ` Refused: ${this.#refused}`
  }

  /** What the status shows. */
  get state(): { readonly pause?: Pause; readonly partialPauses?: readonly Pause[] } {
    return {
      ...(this.#current === undefined ? {} : { pause: this.#current }),
      ...(this.#partial.length === 0 ? {} : { partialPauses: this.#partial }),
    }
  }

  /** True while a command waits to be written: the loop must interrupt its wait. */
  get hasCommands(): boolean {
    return this.#queue.length > 0
  }

  /** Accepts any payload: a handler that throws would stop the loop. */
  pause(request: unknown): Command {
    return this.#enqueue({ request, change: { pause: pauseAskedFor(request, this.#loop, Date.now()) } })
  }

  /** Undefined when the scope to lift cannot be read: everything stays paused. */
  resume(request?: unknown): Command | undefined {
    const lift = liftAskedFor(request, this.#loop)
    if (lift !== undefined) return this.#enqueue({ request, change: { lift } })
    log.warn('a resume is ignored: its scope cannot be read', { request })
    return undefined
  }

  /** Writes queued commands in order. An expired pause is cleared the same way. */
  async apply(): Promise<void> {
    if (this.#queue.length === 0 && this.#isOver()) this.#queue.push({ request: undefined, change: {} })
    while (this.#queue.length > 0) {
      const command = this.#queue[0] as Command
      const { change } = command
      if (this.#refuseOld(command)) {
        // What a reset repeats: since its first time pauses may have come and gone.
        await this.recover()
        this.#queue.shift()
        continue
      }
      command.replaced = this.#replacedBy(change)
      const written = await kubernetes().writePause.executeWithOptions({ summary: summaryOf(this.#loop, change) }, [
        { loop: this.#loop, ...change },
      ])
      this.#take(change)
      this.#queue.shift()
      command.written = written
    }
  }

  /** Refuses a command whose time is over. One that lifts pauses must say when it was made; a brake need not. Returns whether it did. */
  #refuseOld(command: Command): boolean {
    const { pause, lift } = command.change
    if (pause === undefined && lift === undefined) return false
    const [name, undated] = pause === undefined ? (['resume', 'refused'] as const) : (['pause', 'accepted'] as const)
    const why = ageRefusal(name, command.request, { undated, now: Date.now() })
    if (why === undefined) return false
    log.warn('a request is refused', { why })
    this.#refused = why
    command.refused = why
    return true
  }

  /** Reads the pauses from the cluster: what a run was told, or begins with, may have changed where it was reset. */
  async recover(): Promise<void> {
    const found = await kubernetes().readPause.executeWithOptions({ summary: 'pauses in force' }, [
      { loop: this.#loop },
    ])
    this.#current = found.pause
    this.#partial = found.partial ?? []
  }

  /** Awaits work that commands must not wait for. They are written while it runs, so that it sees a pause before its next write. */
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
    const pause = this.#current
    if (pause?.untilMs === undefined) await condition(changed)
    else
      await condition(changed, Math.max(pause.untilMs - Date.now(), 1), {
        summary: oneLine(pauseTitle(this.#loop, pause)),
      })
  }

  /** Before a run ends: carries out every command and answers all waiting callers. */
  async finish(): Promise<void> {
    do {
      await this.apply()
      await condition(() => this.hasCommands || allHandlersFinished())
    } while (this.hasCommands)
  }

  /** Runs a loop. A cancelled one carries out its commands before it ends: they are in the cluster then, and so in the next run. */
  async during(loop: () => Promise<void>): Promise<void> {
    try {
      await loop()
    } catch (error) {
      if (isCancellation(error)) await CancellationScope.nonCancellable(() => this.finish())
      throw error
    }
  }

  #enqueue(command: Command): Command {
    this.#queue.push(command)
    return command
  }

  #take({ pause, lift }: Command['change']): void {
    const scope = pause === undefined ? (lift?.scope ?? wholeLoop) : scopeOf(pause)
    if (scope.kind === 'cluster') this.#current = pause
    else {
      const key = pauseKey(this.#loop, scope)
      const others = this.#partial.filter((each) => pauseKey(this.#loop, scopeOf(each)) !== key)
      this.#partial = pause === undefined ? others : [...others, pause]
    }
    if (lift?.all === true) this.#partial = []
  }

  async #answer(command: Command | undefined): Promise<PauseAnswer> {
    if (command === undefined) throw new Error('the scope passed the check and cannot be read')
    await CancellationScope.nonCancellable(() =>
      condition(() => command.written !== undefined || command.refused !== undefined),
    )
    if (command.refused !== undefined) throw ApplicationFailure.nonRetryable(command.refused)
    const { lifted, inForce } = command.written as PausesWritten
    const before = command.change.pause === undefined ? lifted : (command.replaced ?? [])
    return { message: messageOf(this.#loop, command.change, before), before, inForce }
  }

  #replacedBy({ pause }: Command['change']): readonly Pause[] {
    if (pause === undefined) return []
    const key = pauseKey(this.#loop, scopeOf(pause))
    const now = Date.now()
    return [...(this.#current === undefined ? [] : [this.#current]), ...this.#partial].filter(
      (each) => pauseKey(this.#loop, scopeOf(each)) === key && (each.untilMs === undefined || each.untilMs > now),
    )
  }

  #isOver(): boolean {
    return this.#current?.untilMs !== undefined && Date.now() >= this.#current.untilMs
  }
}

function summaryOf(loop: LoopName, { pause, lift }: Command['change']): string {
  if (pause !== undefined) return oneLine(pauseTitle(loop, pause))
  if (lift === undefined) return 'the pause is over'
  const who = lift.by === undefined ? '' : ` by ${lift.by}`
  return oneLine(`resume ${lift.all ? 'everything' : scopeText(loop, lift.scope)}${who}`)
}

function messageOf(loop: LoopName, { pause, lift }: Command['change'], before: readonly Pause[]): string {
  const was = before.map((each) => pauseText(loop, each)).join('; ')
  if (pause !== undefined) return `${pauseText(loop, pause)}${was === '' ? '' : `; it replaces: ${was}`}`
  if (lift?.all === true)
    return was === '' ? `nothing of ${loop} was paused` : `all of ${loop} is resumed; it was: ${was}`
  const what = scopeText(loop, lift?.scope ?? wholeLoop)
  return was === '' ? `${what} was not paused` : `${what} is resumed; it was: ${was}`
}
