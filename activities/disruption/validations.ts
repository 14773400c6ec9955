import { type DisruptionMethod, methodFacts, methodNames } from '../../core/disruption/command.ts'
import type { CommandStarter, Validating } from './command-starter.ts'

/** How long after its time the commit of a command may come before its workflow is asked for, and again. */
const overdueMs = 10_000
const longestDelayMs = 60_000
/** So long before the commit of a command for empty nodes others may follow it. */
const emptyAgainMs = 10_000

/** Methods whose commands are committed without a validation later on. */
export const methodsAtOnce = methodNames.filter((method) => methodFacts[method].validation === 'immediate')

/**
 * Commands that wait for their commit: evaluations leave their nodes alone. A planner that begins reads them from Temporal, and hears of the end of each
 * by its own commits; one that somebody ended never comes.
 */
export class Validations {
  readonly #waiting = new Map<string, Validating & { askMs: number }>()
  #onEnd = () => {}

  /** Learns what waits, as Temporal lists it. No delay is longer than a minute, whatever a memo says. `now`: epoch ms. */
  restart(waiting: readonly Validating[], now: number): void {
    this.#waiting.clear()
    for (const each of waiting) this.add({ ...each, dueMs: Math.min(each.dueMs, now + longestDelayMs) })
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

  /**
   * Returns the methods that may be evaluated while these wait, and when that changes, epoch ms. One that hangs, whose time is long over, must not hold up
   * others. `now`: epoch ms.
   */
  methodsBeside(now: number): { readonly methods: readonly DisruptionMethod[]; readonly untilMs: number } {
    const delayed = [...this.#waiting.values()].filter(
      ({ method, dueMs }) => now < dueMs + overdueMs && methodFacts[method].validation === 'delayed',
    )
    if (delayed.length === 0) return { methods: methodNames, untilMs: Number.POSITIVE_INFINITY }
    // Empty nodes go each by itself. Those that become empty one after the other should not wait for each other, nor make a command each.
    const againMs = Math.max(...delayed.map(({ dueMs }) => dueMs)) - emptyAgainMs
    const areEmpty = delayed.every(({ method }) => method === 'emptiness')
    if (areEmpty && now >= againMs)
      return { methods: ['emptiness', ...methodsAtOnce], untilMs: Number.POSITIVE_INFINITY }
    return { methods: methodsAtOnce, untilMs: areEmpty ? againMs : Number.POSITIVE_INFINITY }
  }

  /** Whether the commit of one is to come any moment: an evaluation would decide by a cluster that is about to change. `now`: epoch ms. */
  isDue(now: number): boolean {
    return [...this.#waiting.values()].some(({ dueMs }) => dueMs <= now && now < dueMs + overdueMs)
  }

  /** Resolves when one has ended, or after `ms`. */
  async untilEnd(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      this.#onEnd = end
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
    })
  }

  /** Forgets those whose time is long over and that do not wait any more. Returns the ids of the others. Errors: Temporal's. */
  async forgetEnded(commands: Pick<CommandStarter, 'isValidating'>, now: number): Promise<readonly string[]> {
    const late: string[] = []
    for (const each of this.#waiting.values()) {
      if (now < each.askMs) continue
      each.askMs = now + overdueMs
      if (await commands.isValidating(each.id)) late.push(each.id)
      else this.#waiting.delete(each.id)
    }
    return late
  }
}
