import type { DisruptionMethod } from '../../core/disruption/command.ts'
import type { CommandStarter, Validating } from './command-starter.ts'

/** How long after its time the commit of a command may come before its workflow is asked for, and again. */
const overdueMs = 10_000

/**
 * Commands that wait for their commit: evaluations leave their nodes alone. A planner that begins reads them from Temporal, and hears of the end of each
 * by its own commits; one that somebody ended never comes.
 */
export class Validations {
  readonly #waiting = new Map<string, Validating & { askMs: number }>()
  #onEnd = () => {}

  /** Learns what waits, as Temporal lists it. */
  restart(waiting: readonly Validating[]): void {
    this.#waiting.clear()
    for (const each of waiting) this.add(each)
  }

  add(validating: Validating): void {
    this.#waiting.set(validating.id, { ...validating, askMs: validating.dueMs + overdueMs })
  }

  ended(id: string): void {
    if (this.#waiting.delete(id)) this.#onEnd()
  }

  /** Names of the NodeClaims that wait. */
  get nodeClaims(): ReadonlySet<string> {
    return new Set([...this.#waiting.values()].flatMap(({ nodeClaims }) => nodeClaims))
  }

  get methods(): readonly DisruptionMethod[] {
    return [...new Set([...this.#waiting.values()].map(({ method }) => method))]
  }

  /** Whether the commit of one is to come any moment: an evaluation would decide by a cluster that is about to change. `now`: epoch ms. */
  isDue(now: number): boolean {
    return [...this.#waiting.values()].some(({ dueMs }) => dueMs <= now && now < dueMs + overdueMs)
  }

  /** Resolves when one has ended, or after `ms`. */
  async untilEnd(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#onEnd = end
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
    })
  }

  /** Forgets those whose time is long over and that do not wait any more. Errors: Temporal's. */
  async forgetEnded(commands: Pick<CommandStarter, 'isValidating'>, now: number): Promise<void> {
    for (const each of this.#waiting.values()) {
      if (now < each.askMs) continue
      each.askMs = now + overdueMs
      if (!(await commands.isValidating(each.id))) this.#waiting.delete(each.id)
    }
  }
}
